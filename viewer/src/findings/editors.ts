// SPDX-License-Identifier: Apache-2.0
// Links that open a location in an editor. Off by default. The setting is stored in the browser, not
// in the report.
import { byId, field, make } from "../page/dom";

interface Editor {
    name: string;
    link: (path: string, line: string) => string;
}

const path = (file: string): string => file.split("/").map(encodeURIComponent).join("/");

export const EDITORS: Record<string, Editor> = {
    vscode: { name: "VS Code", link: (file, line) => `vscode://file${path(file)}:${line}` },
    vscodium: { name: "VSCodium", link: (file, line) => `vscodium://file${path(file)}:${line}` },
    cursor: { name: "Cursor", link: (file, line) => `cursor://file${path(file)}:${line}` },
    pycharm: {
        name: "PyCharm",
        link: (file, line) => `pycharm://open?file=${encodeURIComponent(file)}&line=${line}`,
    },
};

export interface EditorChoice {
    editor: string; // key of EDITORS, "" for none
    folder: string; // prefix of relative paths
}

// Undefined if no editor is selected or the path is not absolute.
export function linkFor(choice: EditorChoice, location: string): string | undefined {
    const editor = Object.hasOwn(EDITORS, choice.editor) ? EDITORS[choice.editor] : undefined;
    const parts = /^(.+):(\d+)$/.exec(location);
    const file = parts?.[1];
    if (editor === undefined || parts === null || file === undefined) {
        return undefined;
    }
    const folder = choice.folder.trim().replace(/\/*$/, "/");
    const absolute = file.startsWith("/") ? file : folder + file;
    const complete = file.startsWith("/") || /^\/./.test(folder);
    return complete ? editor.link(absolute, parts[2] ?? "1") : undefined;
}

const KEY = "cyclewatch-editor";
const listeners: (() => void)[] = [];
let chosen = load();

// If the browser blocks storage for local files, the setting lasts until the page is closed.
function load(): EditorChoice {
    try {
        const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<EditorChoice>;
        return { editor: stored.editor ?? "", folder: stored.folder ?? "" };
    } catch {
        return { editor: "", folder: "" };
    }
}

function change(part: Partial<EditorChoice>): void {
    chosen = { ...chosen, ...part };
    try {
        localStorage.setItem(KEY, JSON.stringify(chosen));
    } catch {
        // see load()
    }
    listeners.forEach((listener) => listener());
}

export function editorLink(location: string): string | undefined {
    return linkFor(chosen, location);
}

// Also calls the listener immediately.
export function onEditorChange(listener: () => void): void {
    listeners.push(listener);
    listener();
}

export function addEditorChoice(): void {
    const editor = make("select", {}, make("option", { value: "" }, "none"));
    for (const [key, { name }] of Object.entries(EDITORS)) {
        editor.append(make("option", { value: key }, name));
    }
    editor.value = chosen.editor;
    editor.addEventListener("change", () => change({ editor: editor.value }));
    const folder = make("input", { type: "text", placeholder: "/home/me/project", value: chosen.folder });
    folder.addEventListener("input", () => change({ folder: folder.value }));
    const folderField = field("Base folder of relative paths", folder);
    onEditorChange(() => (folderField.hidden = chosen.editor === ""));
    const settings = byId("settings");
    settings.append(field("Open locations in", editor), folderField);
    settings.hidden = false;
    // Beside the first location to open; at the end of the page if there is none.
    document.querySelector("section.cut .reference .where")?.closest(".reference")?.after(settings);
}
