// SPDX-License-Identifier: Apache-2.0
/** Walks through the flow of a VolumeSnapshotContent: a test scripts the answers of its steps and looks at what it did. */
import type { Snapshot } from '@csi-sidecars/csi';
import type { Outcome, RecordedEvent } from '@csi-sidecars/runtime';
import { type Answers, type Walk, walkFlow } from '@csi-sidecars/runtime/testing';
import type { VolumeSnapshotClass, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { handle } from '../src/flow.ts';
import type { SnapshotTypes } from '../src/content/content.ts';
import { snapshotKind } from '../src/content/kind.ts';
import type { Conclusion, ContentKind, Observed } from '../src/content-types.ts';
import {
  aClass,
  aContent,
  aDriver,
  beingCreated,
  deletionSecret,
  intent,
  memberOf,
  type SnapshotContentOptions,
  someSettings,
} from './builders.ts';

type Content = VolumeSnapshotContent;
type Status = NonNullable<Content['status']>;

const [mark = ''] = Object.keys(beingCreated);
export const full: Status = { snapshotHandle: 'h', readyToUse: true };
export const inGroup: Status = { ...full, volumeGroupSnapshotHandle: 'g' };
/** A member of a dynamic group. Default: it is ready. */
export const member = (more: SnapshotContentOptions = {}): Content =>
  aContent({ className: null, annotations: { ...memberOf, ...deletionSecret }, status: inGroup, ...more });
export const refused: Error = new Error('broken');
/** As the driver answers. */
export const snapshot: Snapshot = {
  snapshot_id: 'h',
  source_volume_id: 'volume-1',
  size_bytes: '5',
  creation_time: { seconds: '1', nanos: 2 },
  ready_to_use: true,
  group_snapshot_id: '',
  accessible_topology: [],
};

/** How a run begins. */
export interface Given {
  readonly content?: Content | undefined;
  readonly class?: VolumeSnapshotClass;
  readonly isFirst?: boolean;
  /** The gate VolumeSnapshotTopology is on; `unsupported`: the driver lacks the capability. Default: it is off. */
  readonly topology?: 'on' | 'unsupported';
  readonly places?: Partial<Observed<SnapshotTypes>['places']>;
  readonly kind?: ContentKind<SnapshotTypes>;
  /** What the run finds when it looks again, one after the other; after them, what it wrote last. */
  readonly looks?: readonly (Content | undefined)[];
  /** An array: one after the other. Default, and after them: everything succeeds, and writes do what they are for. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

export async function walk({
  class: found,
  isFirst = false,
  looks = [],
  answers = {},
  topology,
  ...given
}: Given): Promise<Walk<Conclusion>> {
  const content = 'content' in given ? given.content : aContent();
  const known: Content | undefined = content && { ...content, metadata: { ...content.metadata, resourceVersion: '1' } };
  let current: Content | undefined = known;
  const left = [...looks];
  const writes =
    (how: (content: Content) => Content) =>
    (of: Content): Content =>
      (current = how(of));
  const { annotations: _annotations, labels: _labels, ...bare } = aContent().metadata ?? {};
  const success: Answers = {
    readCallSecret: { user: 'me' },
    look: () => (left.length > 0 ? (current = left.shift()) : current),
    confirm: (of: Content) => of,
    mark: writes(withIntent),
    restoreMark: writes(withIntent),
    unmark: writes((of) => ({ ...of, metadata: { ...bare, ...deletionOf(of) } })),
    create: { snapshot },
    query: { entries: [{ snapshot }], next_token: '' },
    saveTaken: writes((of) => ({ ...of, status: full })),
    saveFailure: writes((of) => of),
    savePlaces: writes((of) => of),
    noteAsked: undefined,
    deleteSnapshot: undefined,
    clear: writes(({ status: _status, ...of }) => of),
    release: writes((of) => ({ ...of, metadata: { ...of.metadata, finalizers: [] } })),
  };
  const scripted = Object.entries(answers).map(([name, answer]) => {
    if (!Array.isArray(answer)) return [name, answer];
    const next: unknown[] = [...(answer as readonly unknown[])];
    return [name, (of: Content) => (next.length > 0 ? next.shift() : (success[name] as typeof writes)(of as never))];
  });
  const plugin = topology === 'on' ? ['SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'] : [];
  const driver = { ...aDriver(), pluginCapabilities: new Set(plugin) };
  const places = { areKept: true, areAsked: false, ...given.places };
  const flow = handle({ content: known, class: found ?? aClass(), isFirst, places }, given.kind ?? snapshotKind, {
    driver,
    settings: someSettings({ snapshotTopology: topology !== undefined }),
  });
  return await walkFlow(flow, { ...success, ...(Object.fromEntries(scripted) as Answers) });
}

function withIntent(content: Content): Content {
  const annotations = { ...content.metadata?.annotations, ...intent.annotations };
  return { ...content, metadata: { ...content.metadata, annotations, labels: intent.labels } };
}

/** An unmarked content is as much to be deleted as before. */
function deletionOf({ metadata }: Content): object {
  if (metadata?.deletionTimestamp === undefined) return {};
  const { [mark]: _mark, ...annotations } = metadata.annotations ?? {};
  return { deletionTimestamp: metadata.deletionTimestamp, annotations };
}

export const events = (all: readonly RecordedEvent[]): readonly string[] =>
  all.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

function show(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'retry':
      return `retry: ${outcome.cause.message}`;
    case 'postpone':
      return `postpone: ${outcome.reason}`;
    case 'requeueAfter':
      return `requeueAfter ${outcome.afterMs}`;
    case 'done':
    case 'dropped':
      return outcome.kind;
  }
}

/** Its steps, without those that only look, and how it ends. */
export async function endOf(
  given: Given,
): Promise<{ readonly steps: readonly string[]; readonly ends: string; readonly kind: string }> {
  const { steps, conclusion } = await walk(given);
  const { row, kind, outcome } = conclusion;
  return { steps: steps.filter((step) => !step.endsWith(' look')), ends: `${row} ${show(outcome)}`, kind };
}
