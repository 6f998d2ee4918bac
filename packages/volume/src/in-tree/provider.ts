// SPDX-License-Identifier: Apache-2.0
/**
 * What is known about one in-tree volume plugin that a CSI driver replaced. One row per plugin stands in `providers.ts`.
 * A field the source leaves out has Go's zero value afterwards, as upstream's translation library has it.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { Result } from '../result.ts';

export type PersistentVolumeSpec = NonNullable<PersistentVolume['spec']>;
export type CsiSource = NonNullable<PersistentVolumeSpec['csi']>;

/** Fields of a PersistentVolume that a CSI driver can serve. */
export type InTreeField =
  | 'gcePersistentDisk'
  | 'awsElasticBlockStore'
  | 'cinder'
  | 'azureDisk'
  | 'azureFile'
  | 'vsphereVolume'
  | 'portworxVolume';

export type InTreeSource<F extends InTreeField> = NonNullable<PersistentVolumeSpec[F]>;

export interface InTreeProvider<F extends InTreeField> {
  /** Name of the CSI driver that replaced the plugin. */
  readonly driver: string;
  /** Name of the plugin, as provisioner of a StorageClass and in annotations. */
  readonly plugin: string;
  readonly toCsi: (source: InTreeSource<F>, volume: PersistentVolume) => Result<Omit<CsiSource, 'driver'>>;
  /** What the modes in the spec mean to the driver; default: what they say. */
  readonly toAccessModes?: (modes: readonly string[]) => readonly string[];
  /** The handle that the driver reports for the volume on this node; default: the translated one. */
  readonly repairHandle?: (handle: string, nodeId: string) => Result<string>;
}
