// SPDX-License-Identifier: Apache-2.0
/** What checks read, by source. Of large collections only what is still to be done is kept. */
import type {
  CSIDriver,
  CSIStorageCapacity,
  Lease,
  Pod,
  StorageClass,
  VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import type { WantedRight } from '@csi-sidecars/sidecar';
import type { SecretReference, VolumeSnapshotClass } from '@csi-sidecars/volume';
import type { Leader } from '../../actors/leader.ts';
import type { Account } from '../../actors/rights.ts';
import type { Missing } from '../../cluster/reader.ts';
import type { ObjectName, Program } from '../../verdict.ts';
import type { CheckId } from '../ids.ts';
import type { Leaders } from './leader-facts.ts';
import type { Sidecar, WorkloadFacts } from './sidecars.ts';

export interface Readings {
  readonly csiDrivers: readonly CSIDriver[];
  readonly registrations: readonly Registration[];
  readonly nodes: readonly NodeFacts[];
  readonly classes: readonly StorageClass[];
  readonly attributesClasses: readonly VolumeAttributesClass[];
  readonly snapshotClasses: readonly VolumeSnapshotClass[];
  readonly workloads: Workloads;
  /** Of the namespaces of drivers: those with sidecars. */
  readonly pods: readonly Pod[];
  readonly leading: readonly Leading[];
  readonly grants: Grants;
  readonly lacking: readonly Lacking[];
  readonly leaders: Leaders;
  readonly crds: readonly CrdFacts[];
  readonly admission: readonly AdmissionFacts[];
  readonly metadataServices: readonly MetadataServiceFacts[];
  readonly healthGate: HealthGate;
  readonly volumes: readonly VolumeFacts[];
  readonly claims: readonly ClaimFacts[];
  readonly attachments: readonly AttachmentFacts[];
  readonly contents: readonly ContentFacts[];
  readonly snapshots: readonly SnapshotFacts[];
  readonly capacities: readonly CapacityFacts[];
  readonly secrets: readonly ClassSecret[];
  readonly events: readonly EventFacts[];
  /** `v1.37.2`; undefined: the server does not say. */
  readonly version: string | undefined;
}

export interface DriverFacts {
  readonly name: string;
  /** Undefined: there is none, or it was not read. */
  readonly object: CSIDriver | undefined;
}

export interface Workloads {
  readonly all: readonly WorkloadFacts[];
  readonly of: (driver: string) => readonly WorkloadFacts[];
  /** The first of its drivers; undefined: it has none, as snapshot-controller. */
  readonly driverOf: (workload: WorkloadFacts) => string | undefined;
}

export interface CapacityFacts {
  readonly namespace: string;
  readonly name: string;
  readonly driver: string | undefined;
  readonly className: string;
  /** The label that names the provisioner that keeps it; with a node deployment also the node. */
  readonly managedBy: string | undefined;
  /** Undefined: it holds nowhere. */
  readonly topology: CSIStorageCapacity['nodeTopology'];
  readonly owners: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  /** The newest change that a program has written; undefined: the server does not say. */
  readonly changedMs: number | undefined;
}

export interface Registration {
  readonly node: string;
  readonly createdMs: number | undefined;
  readonly drivers: readonly {
    readonly name: string;
    readonly nodeId: string;
    readonly keys: readonly string[];
    /** How many volumes fit; undefined: the driver has not said. */
    readonly count: number | undefined;
  }[];
}

export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  /** Since when it is ready, or not. */
  readonly readySinceMs: number | undefined;
  /** The newest sign of life that kubelet has written, by its own clock. */
  readonly heartbeatMs: number | undefined;
  /** `v1.37.2`. */
  readonly kubelet: string | undefined;
}

export interface Kept {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly createdMs: number | undefined;
  /** Undefined: it is not being deleted. */
  readonly deletedMs: number | undefined;
  readonly finalizers: readonly string[];
}

export interface VolumeFacts extends Kept {
  /** Undefined: it is of no CSI driver. */
  readonly driver: string | undefined;
  readonly phase: string;
  readonly phaseSinceMs: number | undefined;
  readonly isDeletedWithClaim: boolean;
  /** csi-provisioner has made it. */
  readonly isProvisioned: boolean;
  /** It can be reached from some nodes only. */
  readonly hasAffinity: boolean;
  /** False: the newest volume stands for all of its driver, and is not listed for itself. */
  readonly isOpen: boolean;
}

export interface ClaimFacts extends Kept {
  readonly phase: string;
  readonly className: string | undefined;
  /** The provisioner that was asked. */
  readonly provisioner: string | undefined;
  /** What csi-external-health-monitor-controller has stored: `DataLoss`, `Degraded`, `Inaccessible`. */
  readonly health: readonly string[];
}

export interface AttachmentFacts extends Kept {
  readonly driver: string;
  /** The PersistentVolume; undefined: the volume is inline. */
  readonly volume: string | undefined;
  readonly node: string;
  readonly isAttached: boolean;
  /** csi-attacher has written something: that it is attached, or why not. */
  readonly hasStatus: boolean;
}

export interface ContentFacts extends Kept {
  readonly driver: string | undefined;
  readonly failedMs: number | undefined;
  readonly failure: string | undefined;
}

export interface SnapshotFacts extends Kept {
  readonly hasStatus: boolean;
}

export interface EventFacts {
  readonly object: ObjectName;
  readonly reason: string;
  readonly component: string;
  readonly text: string;
  /** Of gRPC. */
  readonly code: number | undefined;
  readonly count: number;
  readonly lastMs: number | undefined;
}

export interface CrdFacts {
  readonly name: string;
  readonly of: 'snapshots' | 'groups' | 'populators';
  /** Undefined: the cluster does not have it. */
  readonly versions:
    | readonly { readonly name: string; readonly isServed: boolean; readonly isStorage: boolean }[]
    | undefined;
  readonly storedVersions: readonly string[];
  readonly webhook: WebhookFacts | undefined;
}

export interface WebhookFacts {
  readonly namespace: string;
  readonly service: string;
  /** Undefined: it is not known. */
  readonly readyEndpoints: number | undefined;
  readonly missing: readonly Missing[];
  readonly authority: AuthorityFacts;
}

/** The certificates by which a client knows a server. */
export type AuthorityFacts =
  | { readonly kind: 'valid'; readonly untilMs: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable' };

/** A SnapshotMetadataService: what clients of csi-snapshot-metadata of a driver read. */
export interface MetadataServiceFacts {
  readonly driver: string;
  readonly address: string;
  readonly audience: string;
  readonly authority: AuthorityFacts;
  /** That the address names, in a namespace with csi-snapshot-metadata; undefined: it names none. */
  readonly service:
    | {
        readonly namespace: string;
        readonly name: string;
        /** Undefined: it is not known. */
        readonly readyEndpoints: number | undefined;
        readonly missing: readonly Missing[];
      }
    | undefined;
}

/** Whether the API server keeps the health of claims. Undefined: it does not say, or it was not asked. */
export interface HealthGate {
  readonly isOn: boolean | undefined;
}

/** A webhook that the API server asks before it stores objects of snapshots. */
export interface AdmissionFacts {
  readonly configuration: string;
  readonly webhook: string;
  readonly groups: readonly string[];
  /** Nothing is stored while no endpoint answers. */
  readonly failsClosed: boolean;
  readonly namespace: string;
  readonly service: string;
  /** Undefined: it is not known. */
  readonly readyEndpoints: number | undefined;
  readonly missing: readonly Missing[];
}

export interface Bound {
  readonly role: ObjectName;
  /** Where it holds; undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly rules: readonly unknown[];
}

export interface Grants {
  readonly of: (account: Account) => readonly Bound[];
}

export interface ClassSecret {
  readonly classKind: 'StorageClass' | 'VolumeSnapshotClass';
  readonly className: string;
  readonly driver: string;
  readonly purpose: string;
  /** Who reads it; undefined: kubelet. */
  readonly program: Program | undefined;
  /** Why the templates name no secret; undefined: they do. */
  readonly mistake: string | undefined;
  /** Undefined: the name depends on the claim. */
  readonly fixed: SecretReference | undefined;
  readonly state: 'exists' | 'missing' | 'notAsked' | Missing;
}

export interface Leading {
  /** Undefined: of the cluster, snapshot-controller. */
  readonly driver: string | undefined;
  readonly program: Program;
  readonly leases: readonly Lease[];
  /** What they say; undefined: there is no Lease. */
  readonly leader: Leader | undefined;
}

export interface Lacking {
  readonly id: CheckId;
  /** Undefined: of the cluster. */
  readonly driver: string | undefined;
  readonly sidecar: Sidecar;
  readonly workload: WorkloadFacts;
  readonly account: Account;
  readonly right: WantedRight;
  readonly answer:
    | { readonly kind: 'missing'; readonly by: string }
    | { readonly kind: 'notKnown'; readonly missing: Missing };
  /** The roles of the account; undefined: they were not read. */
  readonly roles: readonly Bound[] | undefined;
}
