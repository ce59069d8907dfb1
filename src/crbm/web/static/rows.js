// Parse a pasted row of numbers.

/** The numbers of a line as `row`, or an error message as `error`. */
export function parseRow(text, count) {
  const line = text.trim();
  if (!line) return { error: "Paste a row of numbers." };
  const parts = line.split(/[\s,;]+/).filter((part) => part !== "");
  const invalid = parts.find((part) => part !== "?" && !Number.isFinite(Number(part)));
  if (invalid !== undefined) return { error: `“${invalid.slice(0, 20)}” is not a number.` };
  if (parts.length !== count) return { error: `Expected ${count} numbers, got ${parts.length}.` };
  return { row: parts.map((part) => (part === "?" ? null : Number(part))) };
}
