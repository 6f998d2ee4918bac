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
  /** The record of a volume that the driver made for a class of the plugin. Not its topology. */
  readonly toInTree: (csi: CsiSource) => Result<InTreeRecord<F>>;
  /** What identifies the volume among those of the plugin. */
  readonly identityOf: (source: InTreeSource<F>) => string;
  readonly storageClass: ClassTranslation;
  /** Undefined: the topology of volumes stays as it is. */
  readonly topology?: TopologyTranslation;
}

export interface InTreeRecord<F extends InTreeField> {
  readonly source: InTreeSource<F>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ClassTranslation {
  /** The driver's key for zones in allowed topologies. Undefined: they stay as they are. */
  readonly zoneKey?: string;
  /** `translated`: the parameters `zone` and `zones` become allowed topologies. */
  readonly zoneParameters?: 'translated';
  /** The class names the driver afterwards. By default it goes on to name the plugin. */
  readonly names?: 'driver';
  /** Default: parameters stay as they are. */
  readonly toParameters?: (parameter: ClassParameter) => Parameters;
  /** Parameters of every translated class. */
  readonly added?: Parameters;
  /** How a value of the driver's zone key in the allowed topologies is translated. Default: it stays. */
  readonly toAllowedZone?: (zone: string) => string;
}

export type Parameters = Readonly<Record<string, string>>;

export interface ClassParameter {
  readonly key: string;
  /** The key in lower case, by which the plugins knew it. */
  readonly name: string;
  readonly value: string;
}

export interface TopologyTranslation {
  /** The driver's key for zones. */
  readonly zoneKey: string;
  /** The driver's key for regions, if it has one. */
  readonly regionKey?: string;
  /** The region of the zones of one term, for plugins whose volumes name it. */
  readonly toRegion?: (zones: readonly string[]) => Result<string>;
}
