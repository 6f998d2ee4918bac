// SPDX-License-Identifier: Apache-2.0
/** Plain SVG as text, for the pictures of the pages, of the dashboard and of the benches: a picture with a background, and elements. */

export interface SvgPicture {
  readonly width: number;
  readonly height: number;
  readonly fontSize: number;
  readonly background: string;
}

/** One element a line. */
export function svgPicture({ width, height, fontSize, background }: SvgPicture, elements: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="${fontSize}">`,
    svgElement('rect', { width, height, fill: background }),
    ...elements,
    '</svg>\n',
  ].join('\n');
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** The attributes in their order; one that is undefined is left out. The content may have any characters. */
export function svgElement(
  name: 'circle' | 'path' | 'rect' | 'text',
  attributes: Attributes,
  content?: string,
): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${typeof value === 'number' ? svgNumber(value) : value}"`],
  );
  const safe = content?.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<${name}${written.join('')}${safe === undefined ? '/>' : `>${safe}</${name}>`}`;
}

/** A tenth of a unit cannot be seen. */
export function svgNumber(value: number): string {
  return String(Number(value.toFixed(1)));
}
