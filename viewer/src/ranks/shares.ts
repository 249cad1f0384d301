// SPDX-License-Identifier: Apache-2.0
// From values to pixels of the heat map.

// Square root: the eye tells dark from darker less well than light from lighter.
export function shades(share: number): number {
    return share <= 0 ? 0 : 0.16 + 0.84 * Math.sqrt(Math.min(1, share));
}

// The columns that share a pixel show the largest of them: none may disappear.
export function shares(values: readonly number[], pixels: number): number[] {
    const out = new Array<number>(Math.min(pixels, values.length)).fill(0);
    for (const [i, value] of values.entries()) {
        const at = Math.floor((i * out.length) / values.length);
        out[at] = Math.max(out[at] ?? 0, value);
    }
    return out;
}
