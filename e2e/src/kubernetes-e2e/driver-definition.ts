// SPDX-License-Identifier: Apache-2.0
/**
 * What the suite knows of the driver (`driverDefinition` of its package `external`): the classes to use, and all
 * capabilities that the test driver has. What is not declared here is skipped.
 */

export interface Classes {
  readonly storage: string;
  readonly attributes: string;
}

export interface DefinitionOptions {
  readonly driverName: string;
  readonly topologyKey: string;
  readonly classes: Classes;
  /** On a slow machine more than one. */
  readonly timeFactor: number;
}

const capabilities = [
  'persistence',
  'block',
  'fsGroup',
  'volumeMountGroup',
  'exec',
  'multipods',
  'RWX',
  'controllerExpansion',
  'nodeExpansion',
  'onlineExpansion',
  'offlineExpansion',
  'snapshotDataSource',
  'pvcDataSource',
  'groupSnapshot',
  'singleNodeVolume',
  'topology',
  'capacity',
  'readWriteOncePod',
  'multiplePVsSameID',
  'capReadOnlyMany',
];

/** The suite has minutes for each of them. A test that fails is to end while somebody waits. */
const timeouts = [
  'PodStart',
  'PodStartShort',
  'PodStartSlow',
  'PodDelete',
  'ClaimProvision',
  'ClaimProvisionShort',
  'DataSourceProvision',
  'ClaimBound',
  'PVReclaim',
  'PVBound',
  'PVCreate',
  'PVDelete',
  'PVDeleteSlow',
  'SnapshotCreate',
  'SnapshotDelete',
];
const secondsEach = 90;
/** The size of stress tests. */
const few = 2;

export function driverDefinition({ driverName, topologyKey, classes, timeFactor }: DefinitionOptions): object {
  return {
    StorageClass: { FromExistingClassName: classes.storage },
    SnapshotClass: { FromName: true },
    GroupSnapshotClass: { FromName: true },
    VolumeAttributesClass: { FromExistingClassName: classes.attributes },
    InlineVolumes: [{ Attributes: {}, Shared: false, ReadOnly: false }],
    DriverInfo: {
      Name: driverName,
      Capabilities: Object.fromEntries(capabilities.map((name) => [name, true])),
      // The smallest XFS has 300 MiB.
      SupportedSizeRange: { Min: '1Gi' },
      SupportedFsType: { '': {}, ext4: {}, xfs: {} },
      SupportedMountOption: { noatime: {} },
      TopologyKeys: [topologyKey],
      StressTestOptions: { NumPods: few, NumRestarts: few },
      VolumeSnapshotStressTestOptions: { NumPods: few, NumSnapshots: few },
      VolumeGroupSnapshotStressTestOptions: { NumPods: few, NumSnapshots: few },
      VolumeModifyStressTestOptions: { NumPods: few },
    },
    Timeouts: Object.fromEntries(timeouts.map((name) => [name, `${secondsEach * timeFactor}s`])),
  };
}
