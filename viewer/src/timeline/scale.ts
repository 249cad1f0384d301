// SPDX-License-Identifier: Apache-2.0
// Scales from values to pixels, and axis ticks.
import { formatBytes, formatDuration } from "../page/format";

export interface Scale {
    from: number;
    to: number;
    // Pixels at `from` and at `to`.
    start: number;
    end: number;
}

export function place(scale: Scale, value: number): number {
    const span = scale.to - scale.from;
    const share = span > 0 ? (value - scale.from) / span : 0;
    return scale.start + Math.min(1, Math.max(0, share)) * (scale.end - scale.start);
}

const TIME_STEPS = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400,
] as const;

function decimalStep(least: number): number {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10);
}

function binaryStep(least: number): number {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, least)) / 10);
    const step = decimalStep(least / unit);
    // Prefer 1 GiB to 1000 MiB.
    return step >= 1000 ? unit * 1024 : step * unit;
}

function timeStep(least: number): number {
    return least < 1 || least > 86400
        ? decimalStep(least)
        : (TIME_STEPS.find((step) => step >= least) ?? 86400);
}

function multiples(step: number, from: number, to: number): number[] {
    const ticks: number[] = [];
    for (let i = Math.ceil(from / step); i * step <= to * (1 + 1e-9); i += 1) {
        ticks.push(i * step);
    }
    return ticks;
}

export function timeTicks(from: number, to: number, most: number): number[] {
    return to > from ? multiples(timeStep((to - from) / most), from, to) : [];
}

// formatDuration() rounds to minutes, which would make labels of ticks equal.
export function timeTickText(seconds: number): string {
    const hasHalves = seconds > 120 && seconds < 7200 && seconds % 60 !== 0;
    return hasHalves ? `${(seconds / 60).toFixed(seconds % 30 === 0 ? 1 : 2)} min` : formatDuration(seconds);
}

// For whole numbers.
export function stepTicks(from: number, to: number, most: number): number[] {
    return multiples(decimalStep(Math.max(1, (to - from) / most)), from, to);
}

export function byteTicks(from: number, to: number, most: number): number[] {
    return to > from ? multiples(binaryStep((to - from) / most), from, to) : [];
}

// Tick labels: formatBytes(), with more digits if two labels would be equal.
export function byteTickTexts(ticks: readonly number[]): string[] {
    const short = ticks.map(formatBytes);
    if (new Set(short).size === short.length) {
        return short;
    }
    const unit = Math.floor(Math.log2(Math.max(1, ...ticks)) / 10);
    const name = formatBytes(1024 ** unit).replace(/^[^ ]* /, "");
    for (let digits = 1; digits < 5; digits += 1) {
        const texts = ticks.map((tick) => `${(tick / 1024 ** unit).toFixed(digits)} ${name}`);
        if (new Set(texts).size === texts.length) {
            return texts;
        }
    }
    return short;
}

// Starts at zero unless the changes would be too small to see. In that case, starts at a round
// value below them.
export function byteRange(lowest: number, highest: number): [number, number] {
    const span = highest - lowest;
    if (span <= 0 || span > highest * 0.25) {
        return [0, highest];
    }
    const step = binaryStep(span / 2);
    return [Math.max(0, Math.floor((lowest - span * 0.15) / step) * step), highest];
}
