// SPDX-License-Identifier: Apache-2.0
/**
 * What the loops over VolumeSnapshotContents and VolumeGroupSnapshotContents have in common, named once: their types, and `ContentKind`,
 * which holds everything in which the two differ.
 */
import type { CsiChannel, DriverInfo, Method, RequestOf, ResponseOf } from '@csi-sidecars/csi';
import type {
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
  TopologySelectorTerm,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';

import type { Messages } from './messages.ts';
import type { PlacesMemory } from './places-memory.ts';
import type { SnapshotterSettings } from './settings.ts';

export type AnyContent = VolumeSnapshotContent | VolumeGroupSnapshotContent;
export type AnyClass = VolumeSnapshotClass | VolumeGroupSnapshotClass;

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

export type FlowContext = Pick<ContentContext, 'driver' | 'settings'>;

export interface Observed<T extends ContentTypes> {
  /** Its newest known state, own writes included. Undefined: it is gone, or belongs to another driver. */
  readonly content: T['content'] | undefined;
  /** Undefined: the content names none, or the class does not exist. */
  readonly class: T['class'] | undefined;
  /** The content had no status when the run began: no attempt to take the snapshot has ever ended. */
  readonly isFirst: boolean;
  /** Alpha, the gate VolumeSnapshotTopology. `asked`: the driver was asked where a snapshot can be used, and need not be asked only for that. */
  readonly places: { readonly areKept: boolean; readonly areAsked: boolean };
}

export interface ContentLoop<T extends ContentTypes> extends LoopTypes {
  /** The name of the content. */
  readonly key: ObjectKey;
  readonly watched: {
    /** With the index `class`. */
    readonly contents: T['content'];
    readonly classes: T['class'];
  };
  readonly observed: Observed<T>;
  readonly conclusion: Conclusion;
  readonly context: StepContext<T>;
}

/** The same for every content of the process. */
export interface ContentContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: SnapshotterSettings;
  readonly events: EventRecorder;
  readonly places: PlacesMemory;
}

export interface StepContext<T extends ContentTypes> extends ContentContext {
  readonly kind: ContentKind<T>;
}

export interface Conclusion extends RuntimeConclusion {
  readonly events: readonly RecordedEvent[];
}

/** A request without its secrets, and the secret that belongs to it. */
export interface Planned<Request> {
  readonly request: Request;
  readonly reference: SecretReference | undefined;
  /** Recorded when the snapshot is taken: what of the class the request does not ask for. */
  readonly unhonoured?: RecordedEvent | undefined;
}

export interface PlannedQuery<T extends ContentTypes> extends Planned<RequestOf<T['query']>> {
  /** The failure of a secret that cannot be read. */
  readonly noSecret: (cause: string) => string;
  /** The driver cannot be asked: this is taken for granted. */
  readonly assumed?: T['taken'] | undefined;
  /** What the answer says about the snapshot. The message of a refusal says why it cannot be used. */
  readonly readAnswer: (response: ResponseOf<T['query']>) => Result<T['taken']>;
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
  /** It names something to take a snapshot of, or a snapshot. */
  readonly hasSource: (content: T['content']) => boolean;
  /** How a content that is neither ready nor to be deleted gets its snapshot; `group`: with its group. */
  readonly wayOf: (content: T['content']) => 'create' | 'query' | 'group';
  /** The volumes, as messages name them. */
  readonly volumesOf: (content: T['content']) => string;
  /** The message of a refusal is the cause of the failure, in full. */
  readonly planCreation: (
    content: T['content'],
    found: T['class'] | undefined,
    context: FlowContext,
  ) => Result<Planned<RequestOf<T['create']>>>;
  readonly planQuery: (
    content: T['content'],
    found: T['class'] | undefined,
    context: FlowContext,
  ) => Result<PlannedQuery<T>>;
  readonly planDeletion: (content: T['content']) => Result<RequestOf<T['delete']>>;
  /** Changes that wake a content beside those that wake both kinds. Default: none. */
  readonly alsoMatters?: (previous: T['content'], current: T['content']) => boolean;
  /** Policy and status say that the snapshot goes with the content. */
  readonly takesSnapshotAlong: (content: T['content']) => boolean;
  /** Alpha, the gate VolumeSnapshotTopology. Absent: contents of the kind say nothing about places. */
  readonly places?: ContentPlaces<T>;
  /** Undefined: the status shows all that already. */
  readonly statusOf: (content: T['content'], taken: T['taken'], nowMs: number) => StatusChange | undefined;
  /** What the status loses with the snapshot. */
  readonly clearedStatus: StatusChange;
  /** Refused: an answer that names no snapshot. */
  readonly readCreated: (response: ResponseOf<T['create']>) => Result<T['taken']>;
}

/** What an answer of the driver means for the places that the spec of a content names. */
export type PlacesAnswer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'write'; readonly terms: readonly TopologySelectorTerm[] }
  /** They cannot be stored. */
  | { readonly kind: 'refused'; readonly message: string };

/** Alpha: where a snapshot can be used. Pure. */
export interface ContentPlaces<T extends ContentTypes> {
  /** The row in which they are written. */
  readonly row: string;
  /** The row in which the driver is asked for nothing else. */
  readonly askedRow: string;
  /** The content is ready, and its places were never recorded: only another question shows them. */
  readonly areMissing: (content: T['content'], context: FlowContext) => boolean;
  readonly answerOf: (content: T['content'], taken: T['taken'], context: FlowContext) => PlacesAnswer;
  readonly areThere: (content: T['content']) => boolean;
  readonly notSaved: (name: string, cause: string) => string;
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
  readonly gone: string;
  readonly foreign: string;
  readonly otherClass: string;
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
