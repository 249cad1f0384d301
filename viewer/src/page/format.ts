// SPDX-License-Identifier: Apache-2.0
// Formats numbers like src/base/text.cpp.
import type { Program } from "../report/schema";

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
    return `${value.toFixed(value < 99.95 ? 1 : 0)} ${UNITS[unit] ?? ""}`;
}

export function formatDuration(seconds: number): string {
    if (!Number.isFinite(seconds) || seconds <= 0) {
        return "0 s";
    }
    if (seconds < 0.9995) {
        return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
    }
    if (seconds < 120) {
        return `${seconds.toFixed(1)} s`;
    }
    if (seconds < 7200) {
        return `${(seconds / 60).toFixed(0)} min`;
    }
    if (seconds < 48 * 3600) {
        return `${(seconds / 3600).toFixed(1)} h`;
    }
    return seconds < 1e12 ? `${(seconds / 86400).toFixed(0)} days` : "ages";
}

export function formatCount(count: number): string {
    return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function counted(count: number, singular: string, plural = `${singular}s`): string {
    return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

export function processName(process: Program | undefined): string {
    if (process === undefined) {
        return "unknown process";
    }
    return process.rank >= 0 ? `rank ${process.rank}` : `process ${process.pid}`;
}
