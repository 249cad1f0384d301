// SPDX-License-Identifier: Apache-2.0
// Reads the embedded report and writes it into a copy of the page. src/render/html/html_data.cpp
// defines the format.
import type { Finding, Report, ProcessOccurrences, OccurrencesByProcess } from "./schema";
import type { Texts } from "./texts";

const REPORT_ID = "cyclewatch-report";
const TEXTS_ID = "cyclewatch-texts";
const PACKED = "gzip-base64";

async function readData(page: Document, id: string): Promise<string> {
    const element = page.getElementById(id);
    if (element === null) {
        throw new Error(`the page has no element #${id}`);
    }
    const packed = element.dataset.packed;
    if (packed !== undefined && packed !== PACKED) {
        throw new Error(`the report is packed as ${packed}, which this page cannot read`);
    }
    return packed === undefined ? element.textContent : unpack(element.textContent);
}

export async function readReport(page: Document): Promise<Report> {
    return parseReport(await readData(page, REPORT_ID));
}

export async function readTexts(page: Document): Promise<Texts> {
    return JSON.parse(await readData(page, TEXTS_ID)) as Texts;
}

// Packed reports store by_process by columns; the documented format is a list.
type Stored = Omit<Report, "findings"> & {
    findings: (Omit<Finding, "by_process"> & { by_process: OccurrencesByProcess | ProcessOccurrences[] })[];
};

const FIELDS = ["process", "occurrences", "retained_bytes", "first_seen", "first_step"] as const;

function asColumns(list: readonly ProcessOccurrences[]): OccurrencesByProcess {
    const column = (field: keyof ProcessOccurrences): number[] => list.map((occurrences) => occurrences[field]);
    return Object.fromEntries(FIELDS.map((field) => [field, column(field)])) as OccurrencesByProcess;
}

function asList(columns: OccurrencesByProcess): ProcessOccurrences[] {
    const row = (i: number): ProcessOccurrences =>
        Object.fromEntries(FIELDS.map((field) => [field, columns[field][i]])) as unknown as ProcessOccurrences;
    return columns.process.map((_, i) => row(i));
}

export function parseReport(json: string): Report {
    const stored = JSON.parse(json) as Stored;
    for (const finding of stored.findings) {
        if (Array.isArray(finding.by_process)) {
            finding.by_process = asColumns(finding.by_process);
        }
    }
    return stored as Report;
}

// The documented format.
export function formatReport(report: Report): string {
    const findings = report.findings.map((finding) => ({
        ...finding,
        by_process: asList(finding.by_process),
    }));
    return JSON.stringify({ ...report, findings });
}

export async function writeReport(page: Document, report: Report): Promise<void> {
    const element = page.getElementById(REPORT_ID);
    if (element === null) {
        throw new Error(`the page has no element #${REPORT_ID}`);
    }
    element.textContent =
        element.dataset.packed === undefined
            ? scriptSafe(formatReport(report))
            : await pack(JSON.stringify(report));
}

// ASCII only, without characters that could close the <script> element.
export function scriptSafe(json: string): string {
    return json.replace(
        /[<>&\u007f-\uffff]/g,
        (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
    );
}

type Bytes = Uint8Array<ArrayBuffer>;

// Not available in browsers older than 2025.
const { fromBase64 = decode } = Uint8Array as { fromBase64?: (text: string) => Bytes };

function decode(text: string): Bytes {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    // A callback for each byte would take a second for a large report.
    for (let at = 0; at < bytes.length; at += 1) {
        bytes[at] = binary.charCodeAt(at);
    }
    return bytes;
}

async function unpack(text: string): Promise<string> {
    return new Response(through(fromBase64(text), new DecompressionStream("gzip"))).text();
}

async function pack(json: string): Promise<string> {
    const stream = through(new TextEncoder().encode(json), new CompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) {
        text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    return btoa(text);
}

// A Blob is not used, because browsers store Blobs in another process.
function through(bytes: Bytes, stream: CompressionStream | DecompressionStream): ReadableStream<Bytes> {
    const source = new ReadableStream<Bytes>({
        start: (controller) => {
            controller.enqueue(bytes);
            controller.close();
        },
    });
    return source.pipeThrough(stream);
}
