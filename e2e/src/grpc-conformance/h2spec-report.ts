// SPDX-License-Identifier: Apache-2.0
/** The results of h2spec, and the exceptions that the page lists. */

export interface H2specResult {
  readonly passed: number;
  /** Cases that failed or that h2spec skipped, as `http2/5.1.2: title`. */
  readonly notPassed: readonly string[];
}

/** Reads h2spec's JUnit report. */
export function readH2spec(report: string): H2specResult {
  const cases = [...report.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g)];
  const notPassed = cases
    .filter(([, , , content = '']) => content.trim() !== '')
    .map(([, section, title = '']) => `${section}: ${plainText(title)}`);
  return { passed: cases.length - notPassed.length, notPassed };
}

function plainText(xml: string): string {
  const named: Readonly<Record<string, string>> = {
    '&lt;': '<',
    '&gt;': '>',
    '&#34;': '"',
    '&#39;': "'",
    '&amp;': '&',
  };
  return xml.replaceAll(/&(?:lt|gt|#34|#39|amp);/g, (entity) => named[entity] ?? entity);
}

/** Rows of the page: `| http2/5.1.2 | title | reason |`. */
export function listedCases(page: string): readonly string[] {
  return [...page.matchAll(/^\| ((?:generic|http2|hpack)\/[\d./]+) \| ([^|]+) \| [^|]+ \|$/gm)].map(
    ([, section, title = '']) => `${section}: ${title.trim()}`,
  );
}

/** One line for each difference between what was found and what is listed. */
export function differences(found: readonly string[], listed: readonly string[]): readonly string[] {
  return [
    ...found.filter((each) => !listed.includes(each)).map((each) => `not passed and not listed: ${each}`),
    ...listed.filter((each) => !found.includes(each)).map((each) => `listed, but it passes: ${each}`),
  ];
}
