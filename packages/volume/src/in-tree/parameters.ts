// SPDX-License-Identifier: Apache-2.0
/** Attributes and parameters whose meaning is the same for several plugins. */
import { ok, refuse, type Result } from '../result.ts';
import type { ClassParameter, Parameters } from './provider.ts';

const prefix = 'csi.storage.k8s.io/';

export function withCsiFsType({ key, name, value }: ClassParameter): Parameters {
  return name === 'fstype' ? { [`${prefix}fstype`]: value } : { [key]: value };
}

export function prefixed(key: string): string {
  return `${prefix}${key}`;
}

/** Without the fields that Go leaves out of an object because they have no value. */
export function nonZero<T extends object>(fields: T): Partial<T> {
  const kept = Object.entries(fields).filter(([, value]) => value !== '' && value !== false && value !== 0);
  return Object.fromEntries(kept) as Partial<T>;
}

const maxInt32 = 2 ** 31 - 1;

/** A number of a partition. One that is larger than what the API can hold is cut off by upstream. */
export function toPartition(text: string, failed: 'Failed' | 'failed'): Result<number> {
  const partition = Number(text);
  const isNumber = /^[+-]?[0-9]+$/.test(text);
  if (isNumber && Math.abs(partition) <= maxInt32) return ok(partition);
  const why = `strconv.Atoi: parsing ${JSON.stringify(text)}: ${isNumber ? 'value out of range' : 'invalid syntax'}`;
  return refuse(`${failed} to convert partition ${text} to integer: ${why}`);
}
