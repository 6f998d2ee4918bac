// SPDX-License-Identifier: Apache-2.0
/** Command line of csi-provisioner: upstream's flags, pflag syntax. */
import {
  boolFlag,
  durationFlag,
  eventsFlags,
  floatFlag,
  gatesFlag,
  intFlag,
  masterFlag,
  pprofFlag,
  rare,
  releaseOnExitGate,
  retryFlags,
  standardFlags,
  stringFlag,
  uintFlag,
} from '@csi-sidecars/sidecar';
import type {
  EventsValues,
  Gate,
  GateSettings,
  ProgramFlags,
  RetryValues,
  StandardValues,
} from '@csi-sidecars/sidecar';

export interface ProvisionerValues extends StandardValues, EventsValues, RetryValues {
  readonly master: string;
  readonly 'volume-name-prefix': string;
  readonly 'volume-name-uuid-length': number;
  readonly 'worker-threads': number;
  readonly 'cloning-protection-threads': number;
  /** Milliseconds. */
  readonly 'snapshot-orphan-sweep-interval': number;
  readonly 'capacity-threads': number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly 'strict-topology': boolean;
  readonly 'immediate-topology': boolean;
  readonly 'extra-create-metadata': boolean;
  readonly 'enable-pprof': boolean;
  readonly 'default-fstype': string;
  readonly 'kube-api-capacity-qps': number;
  readonly 'kube-api-capacity-burst': number;
  readonly 'enable-capacity': boolean;
  readonly 'capacity-for-immediate-binding': boolean;
  /** Milliseconds. */
  readonly 'capacity-poll-interval': number;
  readonly 'capacity-ownerref-level': number;
  readonly 'node-deployment': boolean;
  readonly 'node-deployment-immediate-binding': boolean;
  /** Milliseconds. */
  readonly 'node-deployment-base-delay': number;
  /** Milliseconds. */
  readonly 'node-deployment-max-delay': number;
  readonly 'controller-publish-readonly': boolean;
  readonly 'prevent-volume-mode-conversion': boolean;
  /** Our own flag. One of `protections` in read-settings.ts. */
  readonly 'provisioning-protection': string;
  /** Our own flag. Milliseconds. */
  readonly 'audit-interval': number;
  readonly 'feature-gates': GateSettings;
}

export type ProvisionerGate =
  | 'ReleaseLeaderElectionOnExit'
  | 'Topology'
  | 'CrossNamespaceVolumeDataSource'
  | 'VolumeAttributesClass'
  | 'VolumeSnapshotTopology';

const gates: Readonly<Record<ProvisionerGate, Gate>> = {
  ...releaseOnExitGate,
  Topology: { stage: 'GA', defaultValue: true },
  CrossNamespaceVolumeDataSource: { stage: 'ALPHA', defaultValue: false },
  VolumeAttributesClass: { stage: 'GA', defaultValue: true },
  VolumeSnapshotTopology: { stage: 'ALPHA', defaultValue: false },
};

export const provisionerProgram: ProgramFlags<ProvisionerValues, ProvisionerGate> = {
  name: 'csi-provisioner',
  syntax: 'pflag',
  gates,
  flags: {
    ...standardFlags,
    ...eventsFlags,
    ...retryFlags('provisioning or deletion'),
    master: masterFlag,
    'volume-name-prefix': stringFlag('pvc', 'Prefix of the name of a created volume.'),
    'volume-name-uuid-length': {
      ...intFlag(-1, 'Characters of the claim UID (without dashes) in a volume name; -1: the whole UID.'),
      brief: 'Characters of the claim UID in a volume name; -1: the whole UID.',
    },
    'worker-threads': uintFlag(100, 'Number of simultaneous CSI calls, for claims and for volumes each.'),
    'cloning-protection-threads': rare(uintFlag(1, 'Number of workers that remove cloning finalizers.')),
    'snapshot-orphan-sweep-interval': rare(
      durationFlag(300_000, 'Period of the sweep for orphaned snapshot finalizers; 0 disables.'),
    ),
    'capacity-threads': rare(uintFlag(1, 'Number of workers for CSIStorageCapacity objects.')),
    timeout: durationFlag(10_000, 'Timeout of every CSI call.'),
    'strict-topology': boolFlag(false, 'Late binding: pass only the topology of the selected node to CreateVolume.'),
    'immediate-topology': {
      ...boolFlag(true, 'Immediate binding: pass the aggregated topology of the cluster, or none if disabled.'),
      brief: 'Immediate binding: pass the topology of the cluster, or none if disabled.',
    },
    'extra-create-metadata': boolFlag(false, 'Add claim and volume names to the parameters of create requests.'),
    'enable-pprof': pprofFlag,
    'default-fstype': stringFlag('', 'File system type of volumes whose class names none.'),
    'kube-api-capacity-qps': rare(floatFlag(1, 'QPS for storage capacity updates.')),
    'kube-api-capacity-burst': rare(intFlag(5, 'Burst for storage capacity updates.')),
    'enable-capacity': boolFlag(false, 'Publish CSIStorageCapacity objects.'),
    'capacity-for-immediate-binding': boolFlag(false, 'Publish capacity for classes with immediate binding as well.'),
    'capacity-poll-interval': durationFlag(60_000, 'Period of the refresh of all capacity objects.'),
    'capacity-ownerref-level': {
      ...intFlag(1, 'Owner hops from the own pod to the owner of the capacity objects; -1: no owner.'),
      brief: 'Owner hops from the own pod to the owner of capacity objects; -1: none.',
    },
    'node-deployment': boolFlag(false, 'One replica per node, for node-local volumes.'),
    'node-deployment-immediate-binding': boolFlag(
      true,
      'Whether immediate binding is supported when deployed on each node.',
    ),
    'node-deployment-base-delay': rare(durationFlag(20_000, 'Initial wait before a node tries to own a claim.')),
    'node-deployment-max-delay': rare(durationFlag(60_000, 'Longest wait before a node tries to own a claim.')),
    'controller-publish-readonly': boolFlag(
      false,
      'Mark volumes read-only at attach time when the claim is ReadOnlyMany.',
    ),
    'prevent-volume-mode-conversion': boolFlag(true, 'Refuse to change the volume mode when restoring a snapshot.'),
    'provisioning-protection': {
      ...stringFlag(
        'ambiguous',
        'When a claim gets a finalizer so that its deletion leaks no volume: always, ambiguous (after an answer that leaves the outcome open) or off. With always no claim is released automatically: one without a conclusive answer stays until a person removes the finalizer. No value helps if the finalizer is removed by force, or if a driver denies a volume that it made.',
      ),
      brief: 'Finalizer of a claim against leaked volumes: always, ambiguous or off.',
    },
    'audit-interval': durationFlag(0, "Period of the audit of the driver's volumes, at least 10m; 0: none."),
    'feature-gates': gatesFlag(gates),
  },
};
