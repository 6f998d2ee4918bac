// SPDX-License-Identifier: Apache-2.0
/**
 * What is known about one in-tree volume plugin that a CSI driver replaced. `providers.ts` has one row per plugin.
 * A field that the source omits becomes Go's zero value, as in upstream's translation library.
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
  /** How the access modes of the spec are translated for the driver; by default they stay. */
  readonly toAccessModes?: (modes: readonly string[]) => readonly string[];
  /** The handle that the driver reports for the volume on this node; by default the translated one. */
  readonly repairHandle?: (handle: string, nodeId: string) => Result<string>;
}
