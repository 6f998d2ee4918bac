// SPDX-License-Identifier: Apache-2.0
/** From a capacity range to a size. Devices come in whole sectors of 4 KiB, directories in any size. */
import type { CapacityRange } from '@csi-sidecars/csi';
import type { Layout } from './records.ts';
import { refuse } from './refusal.ts';
import type { Settings } from './settings.ts';

export interface Range {
  /** 0 means no lower limit. */
  readonly requiredBytes: bigint;
  /** 0 means no upper limit. */
  readonly limitBytes: bigint;
}

const sectorBytes = 4096n;

export function parseRange(range: CapacityRange | null): Range {
  const requiredBytes = BigInt(range?.required_bytes ?? '0');
  const limitBytes = BigInt(range?.limit_bytes ?? '0');
  if (requiredBytes < 0n || limitBytes < 0n) refuse('InvalidArgument', 'capacity range is negative');
  if (limitBytes > 0n && requiredBytes > limitBytes) {
    refuse('InvalidArgument', `required_bytes ${requiredBytes} exceeds limit_bytes ${limitBytes}`);
  }
  return { requiredBytes, limitBytes };
}

export function fits(range: Range, bytes: bigint): boolean {
  return bytes >= range.requiredBytes && (range.limitBytes === 0n || bytes <= range.limitBytes);
}

export interface Wish {
  readonly range: Range;
  readonly layout: Layout;
  /** The minimum size that the content needs. */
  readonly atLeastBytes: bigint;
}

/** The size of a volume that is created or expanded. */
export function chooseSize(settings: Settings, { range, layout, atLeastBytes }: Wish): bigint {
  const wanted = range.requiredBytes > 0n ? range.requiredBytes : preferred(settings, range);
  const bytes = roundUp(layout, wanted > atLeastBytes ? wanted : atLeastBytes);
  if (range.limitBytes > 0n && bytes > range.limitBytes) {
    refuse('OutOfRange', `the smallest possible size ${bytes} exceeds limit_bytes ${range.limitBytes}`);
  }
  if (bytes > settings.maxVolumeBytes) {
    refuse('OutOfRange', `size ${bytes} exceeds the maximum volume size ${settings.maxVolumeBytes}`);
  }
  return bytes;
}

function preferred(settings: Settings, range: Range): bigint {
  const { defaultVolumeBytes } = settings;
  return range.limitBytes > 0n && range.limitBytes < defaultVolumeBytes ? range.limitBytes : defaultVolumeBytes;
}

function roundUp(layout: Layout, bytes: bigint): bigint {
  if (layout === 'directory') return bytes;
  const sectors = (bytes + sectorBytes - 1n) / sectorBytes;
  return (sectors === 0n ? 1n : sectors) * sectorBytes;
}
