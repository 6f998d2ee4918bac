// SPDX-License-Identifier: Apache-2.0
/**
 * What the loops over VolumeSnapshotContents and VolumeGroupSnapshotContents have in common, named once: their types, the facts of a
 * run, its actions, and `ContentKind`, which holds everything in which the two differ.
 *
 * Not here: the order of the rows, which each loop states in its own `decide.ts`.
 */
import type { CsiChannel, DriverInfo, Method, RequestOf, ResponseOf } from '@csi-sidecars/csi';
import type {
  Answer,
  Attempt,
  Conclusion as RuntimeConclusion,
  EventRecorder,
  LoopTypes,
  ObjectKey,
  RecordedEvent,
  Resource,
} from '@csi-sidecars/runtime';
import type {
  ContentReference,
  Result,
  SecretReference,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { Messages } from './messages.ts';
import type { SnapshotterSettings } from './settings.ts';

export type AnyContent = VolumeSnapshotContent | VolumeGroupSnapshotContent;
export type AnyClass = VolumeSnapshotClass | VolumeGroupSnapshotClass;
export type Secrets = Readonly<Record<string, string>>;

/** The types of one loop. */
export interface ContentTypes {
  readonly content: AnyContent;
  readonly class: AnyClass;
  readonly create: Method;
  readonly query: Method;
  readonly delete: Method;
  /** What the driver reported about a snapshot, in the form that the status of a content needs. */
  readonly taken: { readonly isReady: boolean };
}

export interface ContentLoop<T extends ContentTypes> extends LoopTypes {
  /** The name of the content. */
  readonly key: ObjectKey;
  readonly watched: {
    /** With the index `class`. */
    readonly contents: T['content'];
    readonly classes: T['class'];
  };
  readonly state: ContentState<T>;
  readonly action: ContentAction<T>;
}

/** The same for every content of the process. */
export interface ContentContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: SnapshotterSettings;
  readonly events: EventRecorder;
}

export type DecideContext = Pick<ContentContext, 'driver' | 'settings'>;

export interface ContentState<T extends ContentTypes> extends Observed<T>, Learned<T> {}

export interface Observed<T extends ContentTypes> {
  /** Its newest known state, own writes included. Undefined: it is gone, or belongs to another driver. */
  readonly content: T['content'] | undefined;
  /** Undefined: the content names none, or the class does not exist. */
  readonly class: T['class'] | undefined;
  /** The content had no status when the run began: no attempt to take the snapshot has ever ended. */
  readonly isFirst: boolean;
}

export interface Learned<T extends ContentTypes> {
  /** The secret that the annotations of the content name. */
  readonly secrets: Answer<Secrets>;
  /** The secret that the class names for queries. */
  readonly querySecrets: Answer<Secrets>;
  readonly marked: Attempt;
  /** An intent of which another program had removed a part is written again. */
  readonly restored: Attempt;
  /** The content was read from the API server. */
  readonly confirmed: Attempt;
  readonly created: Answer<ResponseOf<T['create']>>;
  readonly queried: Answer<ResponseOf<T['query']>>;
  readonly saved: Attempt;
  readonly unmarked: Attempt;
  readonly failureSaved: Attempt;
  readonly deleted: Attempt;
  readonly cleared: Attempt;
  readonly released: Attempt;
}

export const nothingLearned: Learned<never> = {
  secrets: 'unasked',
  querySecrets: 'unasked',
  marked: 'untried',
  restored: 'untried',
  confirmed: 'untried',
  created: 'unasked',
  queried: 'unasked',
  saved: 'untried',
  unmarked: 'untried',
  failureSaved: 'untried',
  deleted: 'untried',
  cleared: 'untried',
  released: 'untried',
};

export type ContentAction<T extends ContentTypes> = { readonly row: string } & (
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | { readonly kind: 'readQuerySecret'; readonly reference: SecretReference }
  /** Record the intent: from here on a call may be under way, and the content must not be deleted. */
  | { readonly kind: 'mark'; readonly content: T['content'] }
  /** Another program removed the intent of an open call, or a part of it. It is recorded again, also on a content that is to be deleted. */
  | { readonly kind: 'restoreMark'; readonly content: T['content'] }
  /** An intent of an earlier run: the cache may be behind, and the content may be gone. */
  | { readonly kind: 'confirm'; readonly content: T['content'] }
  | { readonly kind: 'create'; readonly request: RequestOf<T['create']> }
  | { readonly kind: 'query'; readonly request: RequestOf<T['query']> }
  | { readonly kind: 'save'; readonly content: T['content']; readonly taken: T['taken'] }
  | { readonly kind: 'unmark'; readonly content: T['content'] }
  | { readonly kind: 'saveFailure'; readonly content: T['content']; readonly message: string }
  | { readonly kind: 'delete'; readonly request: RequestOf<T['delete']> }
  /** The snapshot is deleted: without its handle it is not deleted again. */
  | { readonly kind: 'clear'; readonly content: T['content'] }
  /** Take off the finalizer. */
  | { readonly kind: 'release'; readonly content: T['content'] }
  | Conclusion
);

export interface Conclusion extends RuntimeConclusion {
  readonly events: readonly RecordedEvent[];
}

/** A request without its secrets, and the secret that belongs to it. */
export interface Planned<Request> {
  readonly request: Request;
  readonly reference: SecretReference | undefined;
}

/** Everything in which the two kinds of content differ. Pure. */
export interface ContentKind<T extends ContentTypes> {
  readonly resource: Resource<T['content']>;
  readonly classes: Resource<T['class']>;
  /** The name of the queue in metrics and log lines. */
  readonly queueName: string;
  readonly finalizer: string;
  readonly annotations: ContentAnnotations;
  readonly methods: { readonly create: T['create']; readonly query: T['query']; readonly delete: T['delete'] };
  readonly rows: Rows;
  readonly messages: Messages;
  readonly classNameOf: (content: T['content']) => string | undefined;
  readonly referenceOf: (content: T['content']) => ContentReference | undefined;
  /** The snapshot was there before the content. */
  readonly isPreProvisioned: (content: T['content']) => boolean;
  /** Policy and status say that the snapshot goes with the content. */
  readonly takesSnapshotAlong: (content: T['content']) => boolean;
  /** Undefined: the status shows all that already. */
  readonly statusOf: (content: T['content'], taken: T['taken'], nowMs: number) => StatusChange | undefined;
  /** What the status loses with the snapshot. */
  readonly clearedStatus: StatusChange;
  /** Refused: an answer that names no snapshot. */
  readonly readCreated: (response: ResponseOf<T['create']>) => Result<T['taken']>;
}

/** Fields of the status; null removes one. */
export type StatusChange = Readonly<Record<string, unknown>>;

export interface ContentAnnotations {
  /** Name of a label as well. */
  readonly beingCreated: string;
  readonly beingDeleted: string;
  readonly secretName: string;
  readonly secretNamespace: string;
}

/** The rows that both loops have, by what they are about. */
export interface Rows {
  readonly noCredentials: string;
  readonly delete: string;
  readonly clear: string;
  readonly release: string;
  readonly ready: string;
  readonly noQuery: string;
  readonly querySecret: string;
  readonly query: string;
  readonly queryFailed: string;
  readonly noRequest: string;
  readonly secret: string;
  readonly mark: string;
  readonly withdrawn: string;
  readonly create: string;
  readonly refused: string;
  readonly open: string;
  readonly unusable: string;
  readonly save: string;
  readonly unmark: string;
  readonly finished: string;
  readonly notReady: string;
  readonly deletedMeanwhile: string;
}
