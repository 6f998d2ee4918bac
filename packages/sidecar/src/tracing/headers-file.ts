// SPDX-License-Identifier: Apache-2.0
/**
 * The headers for the collector, such as a token, from a file that is read for each batch, so that a change applies to the next one. Neither
 * names nor values are logged.
 */
import type { Files, Logger } from '@csi-sidecars/runtime';

export type Headers = Readonly<Record<string, string>>;

/** Never rejects. While the file cannot be read, the headers that it had last are sent. */
export function headersFrom(
  { files, logger }: { readonly files: Files; readonly logger: Logger },
  path: string | undefined,
): () => Promise<Record<string, string>> {
  if (path === undefined) return async () => ({});
  let last: Headers = {};
  let complaint = '';
  const complain = (text: string): void => {
    if (text !== '' && text !== complaint) logger.warn(text, { file: path });
    complaint = text;
  };
  return async () => {
    try {
      const { headers, unread } = parseHeaders(Buffer.from(await files.read(path)).toString('utf8'));
      complain(
        unread.length === 0 ? '' : `Lines of --tracing-headers-file are not "name: value": ${unread.join(', ')}`,
      );
      last = headers;
    } catch {
      complain('Cannot read --tracing-headers-file, spans are sent with the headers that it had last');
    }
    return { ...last };
  };
}

const header = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/;
/** They are those of the connection or of the exporter. */
const reserved: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
]);

/** `unread`: the numbers of the other lines. Empty lines and those that begin with # are none. */
export function parseHeaders(text: string): { readonly headers: Headers; readonly unread: readonly number[] } {
  const headers: Record<string, string> = {};
  const unread: number[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, name = '', value = ''] = header.exec(line) ?? [];
    if (name === '' || reserved.has(name.toLowerCase())) unread.push(index + 1);
    else headers[name.toLowerCase()] = value;
  }
  return { headers, unread };
}
