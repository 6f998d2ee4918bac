// SPDX-License-Identifier: Apache-2.0
/** One test for each row of docs/behaviour/audit.md. */
import { expect, it } from 'vitest';
import { type AttachmentsState, compareAttachments, pairOf } from './attachments.ts';
import { snapshotCollector, volumeCollector } from './collect.ts';
import type {
  DriverList,
  ListedSnapshot,
  ListedVolume,
  RecordedAttachment,
  RecordedSnapshot,
  RecordedVolume,
} from './facts.ts';
import { type Finding, keyOf } from './finding.ts';
import { compareSnapshots, type SnapshotsState } from './snapshots.ts';
import { compareVolumes, type VolumesState } from './volumes.ts';

const hourMs = 3_600_000;
const startedMs = 100 * hourMs;
const mib = 1024 ** 2;
const gib = 1024 ** 3;

function listOf<E>(entries: Readonly<Record<string, E>>, changes: Partial<DriverList<E>> = {}): DriverList<E> {
  return {
    startedMs,
    isComplete: true,
    entries: new Map(Object.entries(entries)),
    contradicted: new Set(),
    ...changes,
  };
}

const listed: ListedVolume = { capacityBytes: gib, publishedNodeIds: undefined };

function aVolume(handle: string, changes: Partial<RecordedVolume> = {}): RecordedVolume {
  return {
    name: `pv-${handle}`,
    handle,
    isExact: true,
    createdMs: startedMs - 10 * hourMs,
    capacityBytes: gib,
    isProvisioned: true,
    isBeingDeleted: false,
    releasedMs: undefined,
    claim: { namespace: 'shop', name: 'data' },
    isResizing: false,
    isElsewhere: false,
    ...changes,
  };
}

function volumes(changes: Partial<VolumesState>): VolumesState {
  return {
    list: listOf({ a: listed, b: listed }),
    recorded: [aVolume('a'), aVolume('b')],
    otherwiseNamed: new Set(),
    openWork: { kind: 'none' },
    snapshotSources: new Set(),
    recentlyRecorded: new Set(),
    answers: new Map(),
    rules: { graceMs: 600_000, handlePrefix: '' },
    earlier: new Set(),
    ...changes,
  };
}

const text = ({ row, class: group, level, handle }: Finding): string => `${row} ${group} ${level} ${handle}`;

const onlyB = [aVolume('b')];
const earlierMissing = new Set([keyOf('missing', 'x')]);
const earlierUnrecorded = new Set([keyOf('unrecorded', 'a')]);
const withX = (changes: Partial<RecordedVolume> = {}): RecordedVolume[] => [
  aVolume('a'),
  aVolume('b'),
  aVolume('x', changes),
];

it.each<[string, string, Partial<VolumesState>, readonly string[]]>([
  ['O1', 'a volume that both know', {}, []],
  ['O2', 'a volume of another prefix', { recorded: onlyB, rules: { graceMs: 0, handlePrefix: 'z' } }, []],
  [
    'O3',
    'an unrecorded volume and a pending claim, in two lists',
    { recorded: onlyB, openWork: { kind: 'open', what: 'claim a/b is pending' }, earlier: earlierUnrecorded },
    ['O3 young mayBeWork a'],
  ],
  ['O4', 'an unrecorded volume, seen once', { recorded: onlyB }, ['O4 unconfirmed mayBeWork a']],
  [
    'O4',
    'an unrecorded volume, in two lists, and claims that cannot be read',
    { recorded: onlyB, openWork: { kind: 'unknown' }, earlier: earlierUnrecorded },
    ['O4 unconfirmed mayBeWork a'],
  ],
  [
    'O4',
    'an unrecorded volume, in two lists, the second of which is incomplete',
    { recorded: onlyB, list: listOf({ a: listed, b: listed }, { isComplete: false }), earlier: earlierUnrecorded },
    ['O4 unconfirmed mayBeWork a'],
  ],
  [
    'O5',
    'an unrecorded volume of which a snapshot is taken, in two lists',
    { recorded: onlyB, snapshotSources: new Set(['a']), earlier: earlierUnrecorded },
    ['O5 unconfirmed mayBeWork a'],
  ],
  [
    'O5',
    'an unrecorded volume whose PersistentVolume has just gone, in two lists',
    { recorded: onlyB, recentlyRecorded: new Set(['a']), earlier: earlierUnrecorded },
    ['O5 unconfirmed mayBeWork a'],
  ],
  [
    'O6',
    'an unrecorded volume, in two lists',
    { recorded: onlyB, earlier: earlierUnrecorded },
    ['O6 unrecorded difference a'],
  ],
  [
    'O6',
    'an unrecorded volume that was missing before',
    { recorded: onlyB, earlier: new Set([keyOf('missing', 'a')]) },
    ['O4 unconfirmed mayBeWork a'],
  ],
  [
    'O1',
    'a volume that only an inline VolumeAttachment names',
    { recorded: onlyB, otherwiseNamed: new Set(['a']), earlier: earlierUnrecorded },
    [],
  ],
  [
    'O7',
    'an unlisted volume of a PersistentVolume of a minute',
    { recorded: withX({ createdMs: startedMs - 60_000 }), earlier: earlierMissing },
    ['O7 young mayBeWork x'],
  ],
  [
    'O8',
    'an unlisted volume that the driver knows',
    { recorded: withX(), answers: new Map([['x', 'exists']]), earlier: earlierMissing },
    ['O8 pagingGap info x'],
  ],
  [
    'O9',
    'an unlisted volume of another node',
    { recorded: withX({ isElsewhere: true }), earlier: earlierMissing },
    ['O9 notListed info x'],
  ],
  [
    'O9',
    'an unlisted volume that a person recorded, and a driver that lists none of those',
    { recorded: withX({ isProvisioned: false }), earlier: earlierMissing },
    ['O9 notListed info x'],
  ],
  [
    'O10',
    'an unlisted volume that a person recorded, and a driver that lists another of those',
    {
      recorded: [aVolume('a', { isProvisioned: false }), aVolume('b'), aVolume('x', { isProvisioned: false })],
      earlier: earlierMissing,
    },
    ['O10 missing difference x'],
  ],
  ['O10', 'an unlisted volume, seen once', { recorded: withX() }, ['O10 unconfirmed mayBeWork x']],
  [
    'O10',
    'an unlisted volume, in two lists',
    { recorded: withX(), earlier: earlierMissing },
    ['O10 missing difference x'],
  ],
  [
    'O10',
    'an unlisted volume that the driver does not know',
    { recorded: withX(), answers: new Map([['x', 'notFound']]) },
    ['O10 missing difference x'],
  ],
  [
    'O10',
    'an unlisted volume, in two lists, and a driver that lists less than half',
    { list: listOf({ a: listed }), recorded: withX(), earlier: new Set([...earlierMissing, keyOf('missing', 'b')]) },
    ['O10 unconfirmed mayBeWork b', 'O10 unconfirmed mayBeWork x'],
  ],
  [
    'O10',
    'an unlisted volume and an incomplete list',
    { list: listOf({ a: listed, b: listed }, { isComplete: false }), recorded: withX(), earlier: earlierMissing },
    [],
  ],
  [
    'O11',
    'a volume that was released more than an hour ago',
    {
      recorded: [
        aVolume('a', { releasedMs: startedMs - hourMs - 1 }),
        aVolume('b', { releasedMs: startedMs - hourMs }),
      ],
    },
    ['O11 undeleted difference a'],
  ],
  [
    'O12',
    'a smaller volume, seen once',
    { list: listOf({ a: { ...listed, capacityBytes: gib / 2 }, b: listed }) },
    ['O12 unconfirmed mayBeWork a'],
  ],
  [
    'O12',
    'a smaller volume, in two lists',
    { list: listOf({ a: { ...listed, capacityBytes: gib / 2 }, b: listed }), earlier: new Set([keyOf('size', 'a')]) },
    ['O12 size difference a'],
  ],
  [
    'O12',
    'a larger volume',
    { list: listOf({ a: { ...listed, capacityBytes: gib * 2 }, b: listed }) },
    ['O12 size info a'],
  ],
  [
    'O12',
    'a volume that grows',
    {
      list: listOf({ a: { ...listed, capacityBytes: gib / 2 }, b: listed }),
      recorded: [aVolume('a', { isResizing: true }), aVolume('b')],
    },
    [],
  ],
  [
    'O12',
    'a small volume that differs by half a mebibyte, and a large one by less than a hundredth',
    {
      list: listOf({ a: { ...listed, capacityBytes: 10.5 * mib }, b: { ...listed, capacityBytes: gib * 1.009 } }),
      recorded: [aVolume('a', { capacityBytes: 10 * mib }), aVolume('b')],
    },
    [],
  ],
  [
    'O16',
    'two PersistentVolumes of one volume',
    { recorded: [aVolume('a'), aVolume('a', { name: 'other' }), aVolume('b')] },
    ['O16 sharedHandle difference a'],
  ],
  [
    'O17',
    'a volume that is listed twice with different facts',
    { list: listOf({ a: { ...listed, capacityBytes: 1 }, b: listed }, { contradicted: new Set(['a']) }) },
    ['O17 doubtful doubtful a'],
  ],
  [
    'O17',
    'handles that differ in upper and lower case, in two lists',
    {
      list: listOf({ a: listed, b: listed, X: listed }),
      recorded: withX(),
      earlier: new Set([...earlierMissing, keyOf('unrecorded', 'X')]),
    },
    ['O17 doubtful doubtful X', 'O17 doubtful doubtful x'],
  ],
])('%s: given %s, then this is found', (...[, , changes, found]) => {
  expect(compareVolumes(volumes(changes)).findings.map(text)).toEqual(found);
});

it('O1: given a handle with gaps, then nothing is concluded but that the cluster has such a volume', () => {
  const inZone = 'projects/p/zones/z/disks/d';
  const list = listOf({ a: listed, [inZone]: listed });
  const gap = aVolume('projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d', { isExact: false });
  expect(compareVolumes(volumes({ list, recorded: [aVolume('a'), gap] })).findings).toEqual([]);
  expect(compareVolumes(volumes({ list: listOf({ a: listed }), recorded: [aVolume('a'), gap] })).findings).toEqual([]);
  expect(compareVolumes(volumes({ list, recorded: [aVolume('a')] })).findings.map(text)).toEqual([
    `O4 unconfirmed mayBeWork ${inZone}`,
  ]);
});

it('O16: given four PersistentVolumes of one volume, then the sentence has their number and three of their names', () => {
  const recorded = ['p', 'q', 'r', 's'].map((name) => aVolume('a', { name }));
  const { findings } = compareVolumes(volumes({ list: listOf({ a: listed }), recorded }));
  expect(findings).toMatchObject([
    { object: { kind: 'PersistentVolume', name: 'p' }, sentence: '4 PersistentVolumes name it: p, q, r' },
  ]);
});

it('O10: given a list of less than half of the recorded volumes, then it is suspicious; those of other nodes do not count', () => {
  const isSuspicious = (others: Partial<RecordedVolume>): boolean => {
    const recorded = [aVolume('a'), aVolume('b'), ...['v', 'w', 'x'].map((handle) => aVolume(handle, others))];
    return compareVolumes(volumes({ recorded })).isSuspicious;
  };
  expect([isSuspicious({}), isSuspicious({ isElsewhere: true }), isSuspicious({ isExact: false })]).toEqual([
    true,
    false,
    false,
  ]);
});

it('O8: given unlisted volumes, then the driver is asked for them, oldest first, and not for those that are being deleted', () => {
  const recorded = [
    aVolume('a'),
    aVolume('b'),
    aVolume('young', { createdMs: startedMs - 2 * hourMs }),
    aVolume('old'),
    aVolume('going', { isBeingDeleted: true }),
  ];
  const list = listOf({ a: listed, b: listed, c: listed });
  expect(compareVolumes(volumes({ recorded, list })).toAsk).toEqual(['old', 'young']);
});

it('O4: given findings, then those name a key that a second list confirms, and those that are young do not', () => {
  const keysIn = (changes: Partial<VolumesState>): readonly (string | undefined)[] =>
    compareVolumes(volumes(changes)).findings.map(({ key }) => key);
  expect(keysIn({ recorded: onlyB })).toEqual([keyOf('unrecorded', 'a')]);
  expect(keysIn({ recorded: onlyB, openWork: { kind: 'open', what: 'x' } })).toEqual([undefined]);
  expect(keysIn({ recorded: withX({ createdMs: startedMs }) })).toEqual([undefined]);
  expect(keysIn({ list: listOf({}), recorded: [aVolume('x')] })).toEqual([undefined]);
});

function anAttachment(changes: Partial<RecordedAttachment> = {}): RecordedAttachment {
  return {
    name: 'va',
    handle: 'a',
    nodeName: 'node-1',
    nodeId: 'id-1',
    createdMs: startedMs - hourMs,
    isAttached: true,
    ...changes,
  };
}

function attachments(on: readonly string[], changes: Partial<AttachmentsState> = {}): AttachmentsState {
  return {
    list: listOf({ a: { publishedNodeIds: on } }),
    isRecorded: () => true,
    attachments: [],
    nodeIds: new Set(['id-1', 'id-2']),
    recentlyAttached: new Set(),
    rules: { graceMs: 600_000 },
    earlier: new Set(),
    ...changes,
  };
}

it.each<[string, string, AttachmentsState, readonly string[]]>([
  ['O13', 'a node without an attachment', attachments(['id-1']), ['O13 unconfirmed mayBeWork a']],
  [
    'O13',
    'a node without an attachment, in two lists',
    attachments(['id-1'], { earlier: new Set([keyOf('attachedUnrecorded', 'a', 'id-1')]) }),
    ['O13 attachedUnrecorded difference a'],
  ],
  [
    'O13',
    'another node in the list before',
    attachments(['id-1'], { earlier: new Set([keyOf('attachedUnrecorded', 'a', 'id-2')]) }),
    ['O13 unconfirmed mayBeWork a'],
  ],
  [
    'O13',
    'an attachment that has just gone',
    attachments(['id-1'], { recentlyAttached: new Set([pairOf('a', 'id-1')]) }),
    ['O13 young mayBeWork a'],
  ],
  ['O13', 'a volume of another cluster', attachments(['id-1', 'x'], { isRecorded: () => false }), []],
  [
    'O13',
    'a driver that does not say',
    { ...attachments([]), list: listOf({ a: { publishedNodeIds: undefined } }), attachments: [anAttachment()] },
    [],
  ],
  [
    'O14',
    'an attachment that the driver does not have',
    attachments([], { attachments: [anAttachment()] }),
    ['O14 unconfirmed mayBeWork a'],
  ],
  [
    'O14',
    'the same, in two lists',
    attachments([], { attachments: [anAttachment()], earlier: new Set([keyOf('attachedMissing', 'a', 'id-1')]) }),
    ['O14 attachedMissing difference a'],
  ],
  [
    'O14',
    'a new attachment',
    attachments([], { attachments: [anAttachment({ createdMs: startedMs })] }),
    ['O14 young mayBeWork a'],
  ],
  [
    'O14',
    'an attachment that is not attached',
    attachments([], { attachments: [anAttachment({ isAttached: false })] }),
    [],
  ],
  [
    'O14',
    'an attachment of a volume that is not listed',
    attachments([], { attachments: [anAttachment({ handle: 'x' })] }),
    [],
  ],
  ['O14', 'an attachment that both know', attachments(['id-1'], { attachments: [anAttachment()] }), []],
  ['O15', 'a node that is gone', attachments(['gone']), ['O15 unconfirmed mayBeWork a']],
  [
    'O15',
    'a node that is gone, in two lists',
    attachments(['gone'], { earlier: new Set([keyOf('attachedToGoneNode', 'a', 'gone')]) }),
    ['O15 attachedToGoneNode difference a'],
  ],
])('%s: given %s, then this is found', (...[, , state, found]) => {
  expect(compareAttachments(state).map(text)).toEqual(found);
});

const snapshot: ListedSnapshot = { sourceId: 'a', createdMs: startedMs - hourMs };

function aContent(handle: string, changes: Partial<RecordedSnapshot> = {}): RecordedSnapshot {
  return { name: `content-${handle}`, handle, createdMs: startedMs - hourMs, isReady: true, ...changes };
}

function snapshots(changes: Partial<SnapshotsState>): SnapshotsState {
  return {
    list: listOf({ s: snapshot, t: snapshot }),
    recorded: [aContent('s'), aContent('t')],
    members: new Set(),
    openWork: { kind: 'none' },
    hasVolume: (handle) => handle === 'a',
    answers: new Map(),
    rules: { graceMs: 600_000 },
    earlier: new Set(),
    ...changes,
  };
}

const onlyT = [aContent('t')];
const withU = (changes: Partial<RecordedSnapshot> = {}): RecordedSnapshot[] => [
  aContent('s'),
  aContent('t'),
  aContent('u', changes),
];
const earlierSnapshot = new Set([keyOf('unrecordedSnapshot', 's'), keyOf('missingSnapshot', 'u')]);

it.each<[string, string, Partial<SnapshotsState>, readonly string[]]>([
  ['O18', 'a snapshot that both know', {}, []],
  ['O18', 'a snapshot of a group', { recorded: onlyT, members: new Set(['s']), earlier: earlierSnapshot }, []],
  [
    'O19',
    'a new snapshot without a content',
    {
      recorded: onlyT,
      list: listOf({ s: { ...snapshot, createdMs: startedMs }, t: snapshot }),
      earlier: earlierSnapshot,
    },
    ['O19 young mayBeWork s'],
  ],
  [
    'O19',
    'an old one, and a content that is being created',
    { recorded: onlyT, openWork: { kind: 'open', what: 'x' }, earlier: earlierSnapshot },
    ['O19 young mayBeWork s'],
  ],
  ['O20', 'an old snapshot without a content', { recorded: onlyT }, ['O20 unconfirmed mayBeWork s']],
  [
    'O20',
    'the same, in two lists',
    { recorded: onlyT, earlier: earlierSnapshot },
    ['O20 unrecordedSnapshot difference s'],
  ],
  [
    'O22',
    'a snapshot whose content with Retain was deleted, in two lists',
    { recorded: onlyT, earlier: earlierSnapshot },
    ['O20 unrecordedSnapshot difference s'],
  ],
  [
    'O20',
    'the same, in two lists, and contents that cannot be read',
    { recorded: onlyT, openWork: { kind: 'unknown' }, earlier: earlierSnapshot },
    ['O20 unconfirmed mayBeWork s'],
  ],
  ['O21', 'a content of an unlisted snapshot', { recorded: withU() }, ['O21 unconfirmed mayBeWork u']],
  [
    'O21',
    'the same, in two lists',
    { recorded: withU(), earlier: earlierSnapshot },
    ['O21 missingSnapshot difference u'],
  ],
  [
    'O21',
    'the same, and a driver that knows it',
    { recorded: withU(), answers: new Map([['u', 'exists']]), earlier: earlierSnapshot },
    ['O21 pagingGap info u'],
  ],
  [
    'O21',
    'a new content',
    { recorded: withU({ createdMs: startedMs }), earlier: earlierSnapshot },
    ['O21 young mayBeWork u'],
  ],
  ['O21', 'a content that is not ready', { recorded: withU({ isReady: false }), earlier: earlierSnapshot }, []],
  [
    'O21',
    'an incomplete list',
    { list: listOf({ s: snapshot, t: snapshot }, { isComplete: false }), recorded: withU(), earlier: earlierSnapshot },
    [],
  ],
  [
    'O21',
    'a driver that lists less than half',
    {
      list: listOf({ s: snapshot }),
      recorded: withU(),
      earlier: new Set([...earlierSnapshot, keyOf('missingSnapshot', 't')]),
    },
    ['O21 unconfirmed mayBeWork t', 'O21 unconfirmed mayBeWork u'],
  ],
  [
    'O23',
    'a snapshot whose source is gone',
    { hasVolume: () => false, list: listOf({ s: snapshot, t: { ...snapshot, sourceId: '' } }) },
    ['O23 snapshotWithoutSource info s'],
  ],
  ['O23', 'volumes that are not known', { hasVolume: undefined }, []],
  [
    'O17',
    'a snapshot that is listed twice with different facts',
    { list: listOf({ s: snapshot, t: snapshot }, { contradicted: new Set(['s']) }) },
    ['O17 doubtful doubtful s'],
  ],
])('%s: given %s, then this is found', (...[, , changes, found]) => {
  expect(compareSnapshots(snapshots(changes)).findings.map(text)).toEqual(found);
});

it('O21: given an answer, then the driver is not asked again', () => {
  expect(compareSnapshots(snapshots({ recorded: withU() })).toAsk).toEqual(['u']);
  expect(compareSnapshots(snapshots({ recorded: withU(), answers: new Map([['u', 'notFound']]) })).toAsk).toEqual([]);
});

it('O17: given pages, then entries without an id are dropped, and an id that comes again with other facts contradicts itself', () => {
  const { begin, take, listOf: end } = volumeCollector('published nodes');
  const volume = (volume_id: string, capacity_bytes: string) => ({
    volume: { volume_id, capacity_bytes, volume_context: {}, content_source: null, accessible_topology: [] },
    status: { published_node_ids: ['n'] },
  });
  take({ entries: [volume('dropped', '1')], next_token: 'x' });
  begin();
  take({
    entries: [volume('a', '1'), volume('b', '1'), volume('', '1'), { volume: null, status: null }],
    next_token: 'x',
  });
  take({ entries: [volume('a', '2'), volume('b', '1')], next_token: '' });
  const list = end({ startedMs, isComplete: true });
  expect([[...list.entries.keys()], [...list.contradicted]]).toEqual([['a', 'b'], ['a']]);
  expect(list.entries.get('b')).toEqual({ capacityBytes: 1, publishedNodeIds: ['n'] });
  const other = snapshotCollector();
  const entry = {
    snapshot_id: 's',
    source_volume_id: 'a',
    size_bytes: '1',
    ready_to_use: true,
    group_snapshot_id: '',
    accessible_topology: [],
  };
  other.take({
    entries: [{ snapshot: { ...entry, creation_time: { seconds: '7', nanos: 0 } } }, { snapshot: null }],
    next_token: '',
  });
  other.take({ entries: [{ snapshot: { ...entry, creation_time: null } }], next_token: '' });
  const { entries, contradicted } = other.listOf({ startedMs, isComplete: true });
  expect([[...entries], [...contradicted]]).toEqual([[['s', { sourceId: 'a', createdMs: undefined }]], ['s']]);
});
