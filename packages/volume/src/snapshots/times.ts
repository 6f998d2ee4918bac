// SPDX-License-Identifier: Apache-2.0
/** Times of the snapshot API: nanoseconds in a VolumeSnapshotContent, RFC 3339 with seconds elsewhere. */
import type { Int64 } from './objects.ts';

const nanosPerSecond = 1_000_000_000n;
const millisPerSecond = 1_000n;

/** `google.protobuf.Timestamp` as the codec reads it. */
export interface ProtobufTimestamp {
  readonly seconds: string;
  readonly nanos: number;
}

const maxInt64 = 2n ** 63n - 1n;

/** Nanoseconds since 1970. Undefined: before 1677 or after 2262, which the API cannot store. */
export function toNanoseconds({ seconds, nanos }: ProtobufTimestamp): bigint | undefined {
  const value = BigInt(seconds) * nanosPerSecond + BigInt(nanos);
  return value > maxInt64 || value < -maxInt64 ? undefined : value;
}

/** Nanoseconds since 1970. */
export function millisToNanoseconds(ms: number): bigint {
  return BigInt(Math.trunc(ms)) * 1_000_000n;
}

/** RFC 3339, UTC, whole seconds (rounded down), as Kubernetes writes `metav1.Time`. */
export function nanosecondsToTime(nanoseconds: Int64): string {
  const value = BigInt(nanoseconds);
  const seconds = value / nanosPerSecond - (value % nanosPerSecond < 0n ? 1n : 0n);
  return `${new Date(Number(seconds * millisPerSecond)).toISOString().slice(0, -5)}Z`;
}
