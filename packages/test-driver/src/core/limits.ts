// SPDX-License-Identifier: Apache-2.0
/**
 * The size limits that bind callers: strings of 128 bytes, maps and mount flags of 4 KiB in total, node ids of 256 bytes;
 * paths may be longer. Most real drivers accept larger fields and some refuse them, so this one always refuses them.
 */
import { refuse } from './refusal.ts';

const stringBytes = 128;
const totalBytes = 4096;
const ownLimits: Readonly<Record<string, number>> = {
  node_id: 256,
  staging_target_path: Infinity,
  target_path: Infinity,
  volume_path: Infinity,
  volume_publish_path: Infinity,
};
/** Characters that the protocol forbids in names; tab, line feed and carriage return are allowed. */
// oxlint-disable-next-line no-control-regex
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

export function checkLimits(message: object): void {
  for (const [field, value] of Object.entries(message)) {
    if (typeof value === 'string') checkString(field, value);
    else if (Array.isArray(value)) checkList(field, value);
    else if (typeof value === 'object' && value !== null) checkObject(field, value);
  }
}

function checkString(field: string, value: string): void {
  const limit = ownLimits[field] ?? stringBytes;
  if (Buffer.byteLength(value) > limit) refuse('InvalidArgument', `${field} is longer than ${limit} bytes`);
  if (field === 'name' && controlCharacters.test(value)) refuse('InvalidArgument', 'name has control characters');
}

function checkList(field: string, list: readonly unknown[]): void {
  const strings = list.filter((value) => typeof value === 'string');
  if (field === 'mount_flags') checkTotal(field, strings);
  else for (const value of strings) checkString(field, value);
  for (const value of list) if (typeof value === 'object' && value !== null) checkLimits(value);
}

/** A map<string, string> or a message. A message that has only strings is checked like a map too; none comes near the limit. */
function checkObject(field: string, value: object): void {
  const entries = Object.entries(value);
  if (isMapField(field)) checkTotal(field, entries.flat());
  else checkLimits(value);
}

function isMapField(field: string): boolean {
  return /(parameters|secrets|context|segments)$/.test(field);
}

function checkTotal(field: string, strings: readonly unknown[]): void {
  const bytes = strings.reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0);
  if (bytes > totalBytes) refuse('InvalidArgument', `${field} is larger than ${totalBytes} bytes`);
}
