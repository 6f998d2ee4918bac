// SPDX-License-Identifier: Apache-2.0
/**
 * Translates in-tree volumes into CSI volumes. Pure: takes a PersistentVolume, returns what a controller sends to the driver.
 *
 * Not here: node affinity and the secrets of the node side, which no controller reads. StorageClasses and the reverse direction
 * (CSI to in-tree) would be further columns of `providers`.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { ok, refuse, type Result } from '../result.ts';
import type { CsiSource, InTreeField, PersistentVolumeSpec } from './provider.ts';
import { providers } from './providers.ts';

/** What a driver is given about a volume, wherever it is recorded. */
export interface CsiVolume {
  readonly csi: CsiSource;
  /** The access modes of the spec; for GCE disks, modes that the driver supports. */
  readonly accessModes: readonly string[];
  /** Value of the metric label `migrated`: the volume was translated. */
  readonly migrated: boolean;
}

const fields = Object.keys(providers) as readonly InTreeField[];
const rows = Object.values(providers);

/** The plugin that the driver replaced; undefined for a driver that replaced none. */
export function inTreePluginOf(driverName: string): string | undefined {
  return rows.find(({ driver }) => driver === driverName)?.plugin;
}

export function replacesPlugin(driverName: string): boolean {
  return inTreePluginOf(driverName) !== undefined;
}

/** The volume belongs to an in-tree plugin that some CSI driver has replaced. */
export function isInTree({ spec }: PersistentVolume): boolean {
  return fields.some((field) => spec?.[field] !== undefined);
}

/** The CSI volume of a PersistentVolume; the refusal is the text that users see in the status of a VolumeAttachment. */
export function toCsiVolume(volume: PersistentVolume): Result<CsiVolume> {
  const translated = translateInTree(volume);
  if (translated?.kind === 'error') return refuse(`failed to translate in tree pv to CSI: ${translated.message}`);
  if (translated !== undefined) return translated;
  const { csi, accessModes = [] } = volume.spec ?? {};
  if (csi === undefined) return refuse('pv spec contained non-csi source that was not migrated');
  return ok({ csi, accessModes, migrated: false });
}

/** The CSI volume of an in-tree volume; undefined for any other. The refusal says what is wrong with the source, and nothing else. */
export function translateInTree(volume: PersistentVolume): Result<CsiVolume> | undefined {
  for (const field of fields) {
    const translated = translate(field, volume);
    if (translated !== undefined) return translated;
  }
  return undefined;
}

/** The CSI volume of a spec inside the VolumeAttachment itself: its author has already translated it. */
export function toInlineCsiVolume({ csi, accessModes = [] }: PersistentVolumeSpec): Result<CsiVolume> {
  if (csi === undefined) return refuse('inline volume spec contains nil CSI source');
  return ok({ csi, accessModes, migrated: false });
}

/**
 * The handle with which the driver reports a translated volume on this node. For comparisons only: in
 * requests, drivers of translated volumes expect the handle with its gaps.
 */
export function repairVolumeHandle({ driver, volumeHandle }: CsiSource, nodeId: string): Result<string> {
  const provider = rows.find((row) => row.driver === driver);
  if (provider === undefined) return refuse(`could not find In-Tree driver name for CSI plugin ${driver}`);
  return provider.repairHandle?.(volumeHandle, nodeId) ?? ok(volumeHandle);
}

/** Undefined when the volume has no such source. */
function translate<F extends InTreeField>(field: F, volume: PersistentVolume): Result<CsiVolume> | undefined {
  const { [field]: source, accessModes } = volume.spec ?? {};
  if (source === undefined) return undefined;
  const { driver, toCsi, toAccessModes } = providers[field];
  const csi = toCsi(source, volume);
  if (csi.kind === 'error') return csi;
  return ok({
    csi: { driver, ...csi.value },
    accessModes: accessModes && toAccessModes ? toAccessModes(accessModes) : (accessModes ?? []),
    migrated: true,
  });
}
