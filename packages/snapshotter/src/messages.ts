// SPDX-License-Identifier: Apache-2.0
/** Texts that users see in events and in the status of contents, as upstream writes them. Each kind of content has its own words. */
import { goQuote, type RecordedEvent } from '@csi-sidecars/runtime';

export interface Messages {
  /** Reason and beginning of a failure of the first attempt to take a snapshot. */
  readonly creating: Procedure;
  /** The same for later attempts, and for queries. */
  readonly checking: Procedure;
  readonly deleteReason: string;
  /** `snapshot` or `group snapshot`. */
  readonly subject: string;
  /** As kubectl names the kind. */
  readonly resource: string;
  readonly notDeleted: (name: string, cause: string) => string;
  readonly classMissing: (className: string) => string;
  readonly noClass: (name: string) => string;
  readonly noInput: (name: string, cause: string) => string;
  readonly notMarked: (name: string, cause: string) => string;
  /** `volumes` as the object names them. */
  readonly notTaken: (volumes: string, cause: string) => string;
  readonly notUnmarkedAfterFailure: (name: string, cause: string) => string;
  readonly notUnmarked: (name: string, cause: string) => string;
  readonly notSaved: (name: string, cause: string) => string;
  readonly noQueryClass: (className: string, name: string) => string;
  readonly noQueryReference: (name: string, cause: string) => string;
  readonly noQuerySecret: (name: string, cause: string) => string;
  readonly notQueried: (name: string, cause: string) => string;
  readonly noVolume: (name: string) => string;
  readonly notBound: (name: string) => string;
}

export interface Procedure {
  readonly reason: string;
  readonly prefix: string;
}

export const warning = (reason: string, message: string): RecordedEvent => ({ type: 'Warning', reason, message });

export const notWritten = (name: string, cause: string): string =>
  `snapshot controller failed to update ${name} on API server: ${cause}`;

export const notRead = (subject: string, name: string, cause: string): string =>
  `error get ${subject} content ${name} from api server: ${cause}`;

export const unknownParameters = (cause: string): string =>
  `failed to remove CSI Parameters of prefixed keys: ${cause}`;

/** `%q` of Go. */
export const quoted: (text: string) => string = goQuote;

export const noAnnotatedSecret = (subject: string, name: string): string =>
  `cannot retrieve secrets for ${subject} content ${goQuote(name)}, err: secret name or namespace not specified`;
/** The cause is in the log only. */
export const annotatedSecretUnreadable = (subject: string, name: string): string =>
  `cannot get credentials for ${subject} content ${goQuote(name)}`;
export const secretUnreadable = (name: string, namespace: string, cause: string): string =>
  `error getting secret ${name} in namespace ${namespace}: ${cause}`;

export const noCredentials = 'Failed to get snapshot credentials';
export const notCleared = 'Failed to clear content status';
/** Upstream's text without the cause, which only its log has. */
export const notDeleted = (subject: string, cause: string): string => `Failed to delete ${subject}: ${cause}`;

/** `label` is `name=value`. */
export const deletionHeld = (call: string, object: string, label: string): string =>
  `the deletion waits for the outcome of ${call}, which is repeated until the driver gives one; if the storage system certainly has nothing of it: kubectl label --overwrite ${object} ${label}`;

/** Reasons of events about topology (alpha). */
const topologyReasons = {
  unhonoured: 'SnapshotTopologyNotHonoured',
  notRecorded: 'SnapshotTopologyNotRecorded',
} as const;

export const unhonouredTopologies = (className: string, driverName: string): RecordedEvent =>
  warning(
    topologyReasons.unhonoured,
    `allowedTopologies of snapshot class ${className} are not honoured: CSI driver ${driverName} does not report the plugin capability SNAPSHOT_ACCESSIBILITY_CONSTRAINTS`,
  );
/** The snapshot can be used all the same, but its content does not say where. */
export const placesNotRecorded = (cause: string): RecordedEvent =>
  warning(topologyReasons.notRecorded, `where the snapshot can be used is not recorded: ${cause}`);
export const placesUnusable = (cause: string): string =>
  `the topology that the driver answered cannot be stored: ${cause}`;
/** In the log, once. */
export const placesDropped =
  'The API server dropped spec.nodeAffinity of a VolumeSnapshotContent: its definition lacks this field, which is alpha, so where snapshots can be used is not recorded. Next try in ten minutes';

export const markVanished = 'the API server did not keep the annotation';
export const statusRemains = 'the status still has the handle';
export const finalizerRemains = 'the finalizer is still there';
export const markRemains = 'the annotation is still there';
export const noSnapshot = (method: string): string => `the answer to ${method} has no snapshot`;
export const noHandle = (method: string): string => `the answer to ${method} has a snapshot without an id`;
