// SPDX-License-Identifier: Apache-2.0
/** Plain SVG as text: a picture with a background of its own, and what is written in it. */

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
    `<rect width="${width}" height="${height}" fill="${background}"/>`,
    ...elements,
    '</svg>\n',
  ].join('\n');
}

/** The attributes in their order; one that is undefined is left out. The content may have any characters. */
export function svgText(attributes: Readonly<Record<string, string | number | undefined>>, content: string): string {
  const written = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${value}"`],
  );
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text${written.join('')}>${safe}</text>`;
}
