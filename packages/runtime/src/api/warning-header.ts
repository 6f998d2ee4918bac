// SPDX-License-Identifier: Apache-2.0
/** Warnings of the API server (deprecated versions, unknown fields): HTTP `Warning` headers with code 299. */
import type { Logger } from '../log/logger.ts';

/** Texts remembered so that each is logged once; the oldest give way, so that hostile texts cannot fill the memory. */
const rememberedTexts = 500;

/** Logs what a header says, each text once. */
export function warningLog(logger: Logger): (header: string | undefined) => void {
  const seen = new Set<string>();
  return (header) => {
    if (header === undefined) return;
    for (const text of parseWarnings(header)) {
      if (seen.has(text)) continue;
      if (seen.size >= rememberedTexts) seen.delete(seen.values().next().value!);
      seen.add(text);
      logger.warn(`Warning: ${text}`);
    }
  };
}

/** The texts of all warnings with code 299: `299 - "text"`, several joined by commas, quotes escaped by backslashes. */
export function parseWarnings(header: string): string[] {
  const texts: string[] = [];
  for (const [, code, quoted] of header.matchAll(/(?:^|,)\s*(\d{3}) \S+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g)) {
    const text = quoted!.replace(/\\(.)/g, '$1');
    if (code === '299' && text !== '') texts.push(text);
  }
  return texts;
}
