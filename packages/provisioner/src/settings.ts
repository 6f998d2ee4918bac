// SPDX-License-Identifier: Apache-2.0
/** The settings of the command line after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

/** When a claim gets the provisioning finalizer: before its first CreateVolume, after an ambiguous answer, or never. */
export type ProvisioningProtection = 'always' | 'ambiguous' | 'off';

/** One instance on each node, which makes and deletes the volumes of its node. */
export interface NodeDeployment {
  readonly name: string;
  /** The topology of the node according to the driver. */
  readonly segments: Readonly<Record<string, string>> | undefined;
  /** The driver's id of the node. */
  readonly id: string;
  /** Instances compete for claims whose class binds at once. */
  readonly bindsImmediately: boolean;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** How old the deletion of a claim that another instance settles is before the Node of that instance is looked for. */
  readonly patienceMs: number;
}

export interface ProvisionerSettings extends LoopSettings {
  /** Undefined: one instance works for all nodes. */
  readonly node: NodeDeployment | undefined;
  readonly volumeNamePrefix: string;
  /** Undefined means the claim's UID unchanged. */
  readonly volumeNameUuidLength: number | undefined;
  /** Deadline of one CSI call. */
  readonly timeoutMs: number;
  readonly strictTopology: boolean;
  readonly immediateTopology: boolean;
  readonly extraCreateMetadata: boolean;
  readonly controllerPublishReadonly: boolean;
  /** Whether a restored volume has the mode of the snapshot's source, unless the content allows a change. */
  readonly preventsModeConversion: boolean;
  /** Empty means none. */
  readonly defaultFsType: string;
  readonly provisioningProtection: ProvisioningProtection;
  /** Workers that remove the finalizer from sources of clones. */
  readonly cloningProtectionThreads: number;
  readonly snapshotSweepIntervalMs: number;
  /** 0: volumes are not audited. */
  readonly auditIntervalMs: number;
  /** Written into the attributes of every volume. */
  readonly identity: string;
  readonly features: {
    readonly topology: boolean;
    readonly volumeAttributesClass: boolean;
    readonly crossNamespaceVolumeDataSource: boolean;
    /** Finalizers that an earlier program left on snapshots are looked for. */
    readonly snapshotSweep: boolean;
    /** Alpha: the places of a snapshot restrict where volumes are made from it. */
    readonly snapshotTopology: boolean;
  };
}
