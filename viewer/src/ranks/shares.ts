// SPDX-License-Identifier: Apache-2.0
// Converts values to opacity and pixels of the heat map.

// Square root, because differences between dark shades are harder to see.
export function shades(share: number): number {
    return share <= 0 ? 0 : 0.16 + 0.84 * Math.sqrt(Math.min(1, share));
}

// A pixel shows the largest value of its columns.
export function shares(values: readonly number[], pixels: number): number[] {
    const out = new Array<number>(Math.min(pixels, values.length)).fill(0);
    for (const [i, value] of values.entries()) {
        const at = Math.floor((i * out.length) / values.length);
        out[at] = Math.max(out[at] ?? 0, value);
    }
    return out;
}
