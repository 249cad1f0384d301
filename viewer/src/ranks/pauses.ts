// SPDX-License-Identifier: Apache-2.0
// The collections of each process over the steps, as a grid. Steps are matched by number, because the clocks of ranks differ.
import { formatBytes, formatCount, formatDuration, processName } from "../page/format";
import type { CollectionSteps, Report } from "../report/schema";

export interface Layer {
    kind: "seconds" | "freed" | "dead";
    name: string;
    values: number[][]; // by row and column
}

export interface Grid {
    processes: number[]; // by row: index into Report.processes
    first: number; // step
    last: number; // step
    width: number; // steps per column
    columns: number;
    every: number; // sampled steps, as in CollectionSteps
    shorterThan: number;
    layers: Layer[]; // those with values
}

const MOST_COLUMNS = 120;

type Add = (row: number, step: number, value: number) => void;

// Combines the values in each column: a sum, or the largest.
function layer(grid: Grid, kind: Layer["kind"], name: string, combine: (a: number, b: number) => number, fill: (add: Add) => void): Layer {
    const values = grid.processes.map(() => new Array<number>(grid.columns).fill(0));
    fill((row, step, value) => {
        const column = Math.floor((step - grid.first) / grid.width);
        const of = values[row];
        if (of !== undefined && column >= 0 && column < grid.columns) {
            of[column] = combine(of[column] ?? 0, value);
        }
    });
    return { kind, name, values };
}

const sum = (a: number, b: number): number => a + b;

function columnLayer(grid: Grid, all: readonly CollectionSteps[], kind: "seconds" | "freed", name: string): Layer {
    return layer(grid, kind, name, sum, (add) => {
        all.forEach((one, row) => {
            const values = kind === "seconds" ? one.seconds : one.freed_bytes;
            one.steps.forEach((step, i) => add(row, step, (values[i] ?? 0) * one.every));
        });
    });
}

// The memory that scans found in a step, on all devices.
function deadLayer(grid: Grid, report: Report): Layer {
    const rows = new Map(grid.processes.map((process, row) => [process, row]));
    return layer(grid, "dead", "dead tensors", Math.max, (add) => {
        const found = new Map<string, number>();
        for (const { process, steps, dead } of report.memory_steps ?? []) {
            steps.forEach((step, i) => {
                const key = `${process} ${step}`;
                found.set(key, (found.get(key) ?? 0) + (dead[i] ?? 0));
                add(rows.get(process) ?? -1, step, found.get(key) ?? 0);
            });
        }
    });
}

// Undefined unless two processes have counted steps and a collection ran in one of them.
export function gridOf(report: Report): Grid | undefined {
    const all = report.collection_steps ?? [];
    if (all.length < 2 || all.every(({ steps }) => steps.length === 0)) {
        return undefined;
    }
    const first = all.reduce((least, one) => Math.min(least, one.first_step), Infinity);
    const last = all.reduce((most, one) => Math.max(most, one.last_step), -Infinity);
    const width = Math.max(1, Math.ceil((last - first + 1) / MOST_COLUMNS));
    const grid: Grid = {
        processes: all.map(({ process }) => process),
        first,
        last,
        width,
        columns: Math.max(1, Math.ceil((last - first + 1) / width)),
        every: all.reduce((most, one) => Math.max(most, one.every), 1),
        shorterThan: all.reduce((most, one) => Math.max(most, one.shorter_than), 0),
        layers: [],
    };
    const layers = [
        columnLayer(grid, all, "seconds", "time of collections"),
        columnLayer(grid, all, "freed", "freed by collections"),
        deadLayer(grid, report),
    ];
    grid.layers = layers.filter(({ kind, values }) => kind === "seconds" || values.some((row) => row.some((value) => value > 0)));
    return grid;
}

// The grid with at most `most` rows; a row shows the largest value of its processes.
export function fewerRows(values: readonly number[][], most: number): number[][] {
    const count = Math.min(values.length, most);
    const rows = new Array<number[] | undefined>(count);
    values.forEach((row, i) => {
        const at = Math.floor((i * count) / values.length);
        const known = rows[at];
        rows[at] = known === undefined ? [...row] : known.map((value, column) => Math.max(value, row[column] ?? 0));
    });
    return rows.map((row) => row ?? []);
}

function stepsOf(grid: Grid, column: number): string {
    const from = grid.first + column * grid.width;
    const to = Math.min(grid.last, from + grid.width - 1);
    return from === to ? `step ${formatCount(from)}` : `steps ${formatCount(from)} to ${formatCount(to)}`;
}

export function describeCell(report: Report, grid: Grid, { kind, values }: Layer, row: number, column: number): string {
    const value = values[row]?.[column] ?? 0;
    const about = grid.every > 1 && kind !== "dead" ? "about " : "";
    const texts = {
        seconds: value > 0 ? `${about}${formatDuration(value)} in collections` : "no collection",
        freed: `${about}${formatBytes(value)} freed by collections`,
        dead: `${grid.width > 1 ? "at most " : ""}${formatBytes(value)} in dead tensors that scans found`,
    };
    return `${processName(report.processes[grid.processes[row] ?? -1])}, ${stepsOf(grid, column)}: ${texts[kind]}`;
}
