// SPDX-License-Identifier: Apache-2.0
/** Numbers of the driver's answers as the API has them. */
import { type Int64, millisToNanoseconds, type ProtobufTimestamp, toNanoseconds } from '@csi-sidecars/volume';

export function toInt64(value: bigint): Int64 {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Bytes. Undefined: the driver does not know the size, or reports one that no snapshot has. */
export function sizeOf(bytes: string): Int64 | undefined {
  const size = BigInt(bytes);
  return size > 0n ? toInt64(size) : undefined;
}

/** Nanoseconds since 1970. Undefined: the driver reports none, or one that the API cannot store. */
export function timeOf(timestamp: ProtobufTimestamp | null): Int64 | undefined {
  const time = timestamp === null ? undefined : toNanoseconds(timestamp);
  return time === undefined ? undefined : toInt64(time);
}

/** When a snapshot without a time is first seen. */
export function timeOfNow(nowMs: number): Int64 {
  return toInt64(millisToNanoseconds(nowMs));
}
