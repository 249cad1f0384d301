// SPDX-License-Identifier: Apache-2.0
// Formats numbers like src/base/text.cpp.
import type { Program } from "../report/schema";

const DIGITS = 20; // enough to tell whether a number is halfway between two others

// Rounds a number halfway between two others to the even one; toFixed() rounds it up.
function fixed(value: number, digits: number): string {
    const isHalfway = /^50*$/.test(value.toFixed(DIGITS).slice(digits - DIGITS));
    const scale = 10 ** digits;
    const below = Math.floor(value * scale);
    return (isHalfway && below % 2 === 0 ? below / scale : value).toFixed(digits);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

export function formatBytes(bytes: number): string {
    if (!(bytes >= 1024)) {
        return `${Math.max(0, Math.round(bytes) || 0)} B`;
    }
    let value = bytes;
    let unit = 0;
    // 1023.5 would be rounded to "1024".
    while (value >= 1023.5 && unit + 1 < UNITS.length) {
        value /= 1024;
        unit += 1;
    }
    return `${fixed(value, value < 99.95 ? 1 : 0)} ${UNITS[unit] ?? ""}`;
}

export function formatDuration(seconds: number): string {
    if (!Number.isFinite(seconds) || seconds <= 0) {
        return "0 s";
    }
    if (seconds < 0.9995) {
        return `${fixed(seconds * 1e3, seconds < 0.01 ? 1 : 0)} ms`;
    }
    if (seconds < 120) {
        return `${fixed(seconds, 1)} s`;
    }
    if (seconds < 7200) {
        return `${fixed(seconds / 60, 0)} min`;
    }
    if (seconds < 48 * 3600) {
        return `${fixed(seconds / 3600, 1)} h`;
    }
    return seconds < 1e12 ? `${fixed(seconds / 86400, 0)} days` : "ages";
}

export function formatCount(count: number): string {
    return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function counted(count: number, singular: string, plural = `${singular}s`): string {
    return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

// "0.03 %", "98 %"
export function formatPercent(share: number): string {
    const percent = share * 100;
    if (!Number.isFinite(share) || share <= 0) {
        return "0 %";
    }
    if (percent < 0.01) {
        return "under 0.01 %";
    }
    return percent > 1000 ? "over 1000 %" : `${fixed(percent, percent < 1 ? 2 : percent < 10 ? 1 : 0)} %`;
}

export function processName(process: Program | undefined): string {
    if (process === undefined) {
        return "unknown process";
    }
    return process.rank >= 0 ? `rank ${process.rank}` : `process ${process.pid}`;
}
