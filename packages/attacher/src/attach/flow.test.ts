// SPDX-License-Identifier: Apache-2.0
/** One line for each way through an attachment and back: what a run sees, how its steps are answered, which rows it goes through, how it ends. */
import { CsiError } from '@csi-sidecars/csi';
import { done, type Outcome, requeueAfter, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { ok, refuse } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aDriver, anAttachment, attached, aVolume, finalizer, someSettings } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { attach, type Observed } from './flow.ts';
import type { Looked } from './look.ts';
import type { Publication } from './memory.ts';

const nodeId = 'id-of-node1';
const refused = new Error('refused');
const full = new CsiError({
  code: 'ResourceExhausted',
  method: '/csi.v1.Controller/ControllerPublishVolume',
  detail: 'full',
});
const fresh = anAttachment();
const marked = anAttachment({ finalizers: [finalizer], annotations: { [annotations.nodeId]: nodeId } });
const withoutStatus = ({ status: _status, ...rest }: VolumeAttachment): VolumeAttachment => rest;
const isOn = anAttachment(attached);
const leaving = anAttachment({ ...attached, deleting: 'yes' });
const free = anAttachment({ deleting: 'yes', finalizers: ['x/y'] });
const withSecret = aVolume({ csi: { controllerPublishSecretRef: { name: 'login', namespace: 'team' } } });
const inTree = { ...aVolume(), spec: { accessModes: ['ReadWriteOnce'], gcePersistentDisk: { pdName: 'disk' } } };
const diskHandle = 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk';
const undo = { volumeId: 'volume-1', nodeId, secrets: undefined, migrated: false };
const orphan: Publication = {
  uid: 'of-another-object',
  attachment: 'va1' as never,
  nodeName: 'node1',
  volumeName: 'pv1',
  undo,
};
const own: Publication = { ...orphan, uid: free.metadata?.uid };
const gone: Partial<Looked> = { attachment: undefined };
const [busy, atOnce] = [requeueAfter(1_000), requeueAfter(0)];

/** Everything succeeds, unless a row says otherwise. */
const fine: Answers = {
  forgetPublication: undefined,
  unpublishOrphan: 'done',
  findVolume: aVolume(),
  addVolumeFinalizer: aVolume(),
  readSecrets: { key: 'x' },
  mark: 'done',
  publish: {},
  saveAttached: undefined,
  unpublish: 'done',
  release: undefined,
  saveDetached: undefined,
  report: undefined,
};

interface Given {
  readonly seen?: Partial<Observed>;
  /** What the run finds when it looks again, time after time; the last one stays. Default: as it was, and marked. */
  readonly looks?: readonly Partial<Looked>[];
  readonly answers?: Answers;
}

interface Row extends Given {
  readonly id: string;
  readonly given: string;
  /** Its steps, without those that only look, and at the end the row that ends it. `!` marks the report of an error. */
  readonly rows: string;
  /** Default: done; with `fails` a retry. */
  readonly outcome?: Outcome;
  /** The reported error. */
  readonly fails?: string;
}

function walk({ seen, looks = [], answers }: Given) {
  const observed: Observed = {
    attachment: fresh,
    uid: fresh.metadata?.uid,
    publication: undefined,
    isNeededByAnother: false,
    isForced: false,
    volume: aVolume(),
    registeredNodeId: ok(nodeId),
    knownNodeId: ok(nodeId),
    ...seen,
  };
  let looked = 0;
  const { attachment, isNeededByAnother, registeredNodeId, knownNodeId } = observed;
  const before = { attachment, isNeededByAnother, registeredNodeId, knownNodeId, publication: undefined };
  const look = (): Looked => ({ ...before, ...(looks[looked++] ?? looks.at(-1)) });
  const context = {
    driver: aDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] }),
    settings: someSettings(),
    finalizer,
  };
  return walkFlow(attach(observed, context), { ...fine, look, ...answers });
}

async function check({ rows, outcome, fails, ...given }: Row): Promise<void> {
  const { steps, said, conclusion } = await walk(given);
  expect(steps.filter((step) => !/^[A-Z]\d+ /.test(step))).toEqual([]);
  const path = steps
    .filter((step) => !step.endsWith(' look'))
    .map((step) => step.replace(' report', '!').split(' ')[0]);
  expect([...path, conclusion.row].join(' ')).toBe(rows);
  const expected = outcome ?? (fails === undefined ? done : retry(new Error(fails)));
  expect([said('report').map(([, error]) => (error as Error).message), conclusion.outcome]).toEqual([
    fails === undefined ? [] : [fails],
    expected,
  ]);
}

const title = '$id given $given, then it goes through $rows';
const notFound = 'persistentvolume "pv1" not found';
const noSource = 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source';
const noCsi = aVolume({ spec: { csi: undefined as never } });

describe('a publication that no attachment records', () => {
  it.each<Row>([
    { id: '[attacher#G1]', given: 'no attachment and no publication', seen: gone, rows: 'G1' },
    {
      id: '[attacher#G2]',
      given: 'one that another attachment needs',
      seen: { ...gone, publication: orphan, isNeededByAnother: true },
      rows: 'G2 G1',
    },
    {
      id: '[attacher#G3]',
      given: 'one whose call is in flight',
      seen: { ...gone, publication: orphan },
      answers: { unpublishOrphan: 'busy' },
      rows: 'G4 G3',
      outcome: busy,
    },
    { id: '[attacher#G4]', given: 'one without an attachment', seen: { ...gone, publication: orphan }, rows: 'G4 G1' },
    {
      id: '[attacher#G4]',
      given: 'one that could not be unpublished',
      seen: { ...gone, publication: orphan },
      answers: { unpublishOrphan: refused },
      rows: 'G4 G4',
      outcome: retry(refused),
    },
    {
      id: '[attacher#G4]',
      given: 'one of an earlier object of the same name',
      seen: { attachment: marked, publication: orphan },
      rows: 'G4 A13 A14 A14',
    },
  ])(title, check);
});

describe('an attachment', () => {
  it.each<Row>([
    { id: '[attacher#A1]', given: 'one that is attached', seen: { attachment: isOn }, rows: 'A1' },
    {
      id: '[attacher#A2]',
      given: 'one without a source',
      seen: { attachment: anAttachment({ source: {} }) },
      rows: 'A2! A2',
      fails: noSource,
    },
    {
      id: '[attacher#A3]',
      given: 'a volume that is not in the cache',
      seen: { volume: undefined },
      looks: [{ attachment: marked }],
      rows: 'A3 A13 A14 A14',
    },
    {
      id: '[attacher#A3]',
      given: 'a volume that could not be listed',
      seen: { volume: undefined },
      answers: { findVolume: refused },
      rows: 'A3 A3! A3',
      fails: 'refused',
    },
    {
      id: '[attacher#A4]',
      given: 'a volume that does not exist',
      seen: { volume: undefined },
      answers: { findVolume: undefined },
      rows: 'A3 A4! A4',
      fails: notFound,
    },
    {
      id: '[attacher#A5]',
      given: 'a volume that is being deleted',
      seen: { volume: aVolume({ deleting: 'yes' }) },
      rows: 'A5! A5',
      fails: 'PersistentVolume "pv1" is marked for deletion',
    },
    {
      id: '[attacher#A6]',
      given: 'a volume without our finalizer',
      seen: { attachment: marked, volume: aVolume({ finalizers: [] }) },
      rows: 'A6 A13 A14 A14',
    },
    {
      id: '[attacher#A6]',
      given: 'a volume to which our finalizer could not be added',
      seen: { volume: aVolume({ finalizers: [] }) },
      answers: { addVolumeFinalizer: refused },
      rows: 'A6 A6! A6',
      fails: 'could not add PersistentVolume finalizer: refused',
    },
    {
      id: '[attacher#A7]',
      given: 'a volume that is neither CSI nor migrated',
      seen: { volume: noCsi },
      rows: 'A7! A7',
      fails: 'pv spec contained non-csi source that was not migrated',
    },
    {
      id: '[attacher#A8]',
      given: 'access modes that CSI cannot express',
      seen: { volume: aVolume({ spec: { accessModes: [] } }) },
      rows: 'A8! A8',
      fails: 'unsupported AccessMode combination: []',
    },
    {
      id: '[attacher#A9]',
      given: 'a secret that could not be read',
      seen: { volume: withSecret },
      answers: { readSecrets: refused },
      rows: 'A9 A9! A9',
      fails: 'refused',
    },
    {
      id: '[attacher#A10]',
      given: 'a node where the driver is not registered',
      looks: [{ registeredNodeId: refuse('no node') }],
      rows: 'A10! A10',
      fails: 'no node',
    },
    { id: '[attacher#A11]', given: 'one without our finalizer and node id', rows: 'A11 A13 A14 A14' },
    {
      id: '[attacher#A11]',
      given: 'one with an outdated node id',
      seen: { attachment: anAttachment({ finalizers: [finalizer], annotations: { [annotations.nodeId]: 'old' } }) },
      rows: 'A11 A13 A14 A14',
    },
    {
      id: '[attacher#A11]',
      given: 'one that others had written',
      answers: { mark: 'changed' },
      rows: 'A11 A11',
      outcome: atOnce,
    },
    {
      id: '[attacher#A11]',
      given: 'a node id that is outdated since it was written',
      looks: [{}, { registeredNodeId: ok('another') }],
      rows: 'A11 A11',
      outcome: atOnce,
    },
    {
      id: '[attacher#A11]',
      given: 'a node that the driver has left since its id was written',
      looks: [{}, { registeredNodeId: refuse('no node') }],
      rows: 'A11 A11',
      outcome: atOnce,
    },
    {
      id: '[attacher#A11]',
      given: 'a mark that was refused',
      answers: { mark: refused },
      rows: 'A11 A11! A11',
      fails: 'could not save VolumeAttachment: refused',
    },
    {
      id: '[attacher#A12]',
      given: 'a call for the same volume and node in flight',
      answers: { publish: 'busy' },
      rows: 'A11 A13 A12',
      outcome: busy,
    },
    { id: '[attacher#A13]', given: 'one that is marked', seen: { attachment: marked }, rows: 'A13 A14 A14' },
    {
      id: '[attacher#A13]',
      given: 'a publish that failed',
      seen: { attachment: marked },
      answers: { publish: refused },
      rows: 'A13 A13! A13',
      fails: 'refused',
    },
    {
      id: '[attacher#A14]',
      given: 'a forced publish, and a status that is correct',
      seen: { attachment: isOn, isForced: true },
      rows: 'A13 A14',
    },
    ...[
      { attached: false },
      { attached: true, attachmentMetadata: { a: 'b' } },
      { attached: true, attachError: { message: 'no' } },
    ].map((status) => ({
      id: '[attacher#A14]',
      given: `a forced publish, and the status ${Object.keys(status).join()}`,
      seen: { attachment: anAttachment({ ...attached, status }), isForced: true },
      rows: 'A13 A14 A14',
    })),
    {
      id: '[attacher#A14]',
      given: 'one without a status',
      seen: { attachment: withoutStatus(marked) },
      rows: 'A13 A14 A14',
    },
    ...[
      { saved: { a: 'b' }, rows: 'A13 A14' },
      { saved: { a: 'c' }, rows: 'A13 A14 A14' },
      { saved: { b: 'b' }, rows: 'A13 A14 A14' },
      { saved: {}, rows: 'A13 A14 A14' },
    ].map(({ saved, rows }) => ({
      id: '[attacher#A14]',
      given: `a forced publish with a context, and ${JSON.stringify(saved)} in the status`,
      seen: {
        attachment: anAttachment({ ...attached, status: { attached: true, attachmentMetadata: saved } }),
        isForced: true,
      },
      answers: { publish: { a: 'b' } },
      rows,
    })),
    {
      id: '[attacher#A14]',
      given: 'a status that could not be saved',
      seen: { attachment: marked },
      answers: { saveAttached: refused },
      rows: 'A13 A14 A14',
      outcome: retry(new Error('failed to mark as attached: refused')),
    },
  ])(title, check);

  it('[attacher#A13] given secrets, then the request carries them; given an in-tree volume, then the call is one of a migrated volume', async () => {
    const request = { volume_id: 'volume-1', node_id: nodeId, readonly: false };
    const calls = [await walk({ seen: { volume: withSecret } }), await walk({ seen: { volume: inTree } })];
    expect(calls.flatMap(({ said }) => said('publish').map(([, call]) => call))).toMatchObject([
      { request: { ...request, secrets: { key: 'x' } }, migrated: false },
      { request: { ...request, volume_id: diskHandle }, migrated: true },
    ]);
    expect((await walk({})).said('publish')[0]?.[1]).not.toHaveProperty('request.secrets');
  });

  it('[attacher#A13] given a failure of the driver, then its code is reported; given another one, then none', async () => {
    const walks = [await walk({ answers: { publish: full } }), await walk({ answers: { publish: refused } })];
    expect(walks.flatMap(({ said }) => said('report').map(([, error]) => error))).toEqual([
      { field: 'attachError', message: full.message, code: 8 },
      { field: 'attachError', message: 'refused', code: undefined },
    ]);
  });
});

describe('an attachment that is deleted, or gone, while it is attached', () => {
  const deleted = { attachment: leaving };
  it.each<Row>([
    {
      id: '[attacher#A11]',
      given: 'registered on no node any more when it is marked',
      looks: [{}, { registeredNodeId: refuse('gone') }],
      rows: 'A11 A11',
      outcome: atOnce,
    },
    { id: '[attacher#G1]', given: 'gone before it is marked', looks: [gone], rows: 'G1' },
    { id: '[attacher#D1]', given: 'deleted before it is marked', looks: [{ attachment: free }], rows: 'D1' },
    { id: '[attacher#D8]', given: 'deleted when it is marked', looks: [{}, deleted], rows: 'A11 D8 D9 D10 D10' },
    {
      id: '[attacher#D8]',
      given: 'deleted when it is marked, with a secret',
      seen: { volume: withSecret },
      looks: [{}, deleted],
      rows: 'A9 A11 D6 D8 D9 D10 D10',
    },
    { id: '[attacher#G1]', given: 'gone when it is marked', looks: [{}, gone], rows: 'A11 G1' },
    {
      id: '[attacher#G4]',
      given: 'gone during its publish',
      seen: { attachment: marked },
      looks: [{}, { ...gone, publication: orphan }, gone],
      rows: 'A13 G4 G1',
    },
    {
      id: '[attacher#A13, 49]',
      given: 'deleted during a publish that failed',
      seen: { attachment: marked },
      looks: [{}, deleted],
      answers: { publish: refused },
      rows: 'A13 A13! A13',
      fails: 'refused',
      outcome: atOnce,
    },
    {
      id: '[attacher#D8, 49]',
      given: 'deleted during a publish that succeeded',
      seen: { attachment: marked },
      looks: [{}, deleted],
      rows: 'A13 D8 D9 D10 D10',
    },
    {
      id: '[attacher#D8]',
      given: 'deleted when its status is saved',
      seen: { attachment: marked, volume: withSecret },
      looks: [{}, {}, deleted],
      rows: 'A9 A13 A14 D6 D8 D9 D10 D10',
    },
    {
      id: '[attacher#G1]',
      given: 'gone when its status is saved',
      seen: { attachment: marked },
      looks: [{}, {}, gone],
      rows: 'A13 A14 G1',
    },
  ])(title, check);
});

describe('what a run that goes on from the top still knows', () => {
  it.each<[string, Given]>([
    ['deleted before it is marked', { looks: [{ attachment: leaving }] }],
    ['deleted when it is marked', { looks: [{}, { attachment: leaving }] }],
    ['deleted when its status is saved', { seen: { attachment: marked }, looks: [{}, {}, { attachment: leaving }] }],
    [
      'with an orphan of an earlier object',
      { seen: { attachment: leaving, publication: orphan }, looks: [{ attachment: leaving }] },
    ],
  ])('given an attachment: %s, then it looks for the same object, and knows its volume', async (_given, given) => {
    const { said, steps } = await walk(given);
    expect(new Set(said('look').flat())).toEqual(new Set(['uid-of-va1']));
    expect(steps).toContain('D8 unpublish');
    expect(steps.filter((step) => step.endsWith('findVolume'))).toEqual([]);
  });

  it('given a forced run that is deleted without our finalizer, then it detaches all the same', async () => {
    for (const looks of [[{ attachment: free }], [{}, { attachment: free }], [{}, {}, { attachment: free }]]) {
      const { steps } = await walk({ seen: { isForced: true }, looks });
      expect(steps).toContain('D8 unpublish');
    }
  });
});

describe('a detach', () => {
  const seen = { attachment: leaving };
  const released = anAttachment({ deleting: 'yes', finalizers: ['x/y'], status: { attached: true } });
  /** At the node id, after the call, after the release. */
  const looks = [seen, seen, { attachment: released }];

  it.each<Row>([
    { id: '[attacher#D1]', given: 'no finalizer of ours and no publication', seen: { attachment: free }, rows: 'D1' },
    {
      id: '[attacher#D2]',
      given: 'no source',
      seen: { attachment: anAttachment({ ...attached, deleting: 'yes', source: {} }) },
      rows: 'D2! D2',
      fails: noSource,
    },
    {
      id: '[attacher#D3]',
      given: 'a volume that is not in the cache',
      seen: { ...seen, volume: undefined },
      looks,
      rows: 'D3 D8 D9 D10 D10',
    },
    {
      id: '[attacher#D3]',
      given: 'a volume that could not be listed',
      seen: { ...seen, volume: undefined },
      answers: { findVolume: refused },
      rows: 'D3 D3! D3',
      fails: 'refused',
    },
    {
      id: '[attacher#D4]',
      given: 'a volume that does not exist',
      seen: { ...seen, volume: undefined },
      answers: { findVolume: undefined },
      rows: 'D3 D4! D4',
      fails: notFound,
    },
    {
      id: '[attacher#D5]',
      given: 'a volume that is neither CSI nor migrated',
      seen: { ...seen, volume: noCsi },
      rows: 'D5! D5',
      fails: 'pv spec contained non-csi source that was not migrated',
    },
    {
      id: '[attacher#D6]',
      given: 'a secret that could not be read',
      seen: { ...seen, volume: withSecret },
      answers: { readSecrets: refused },
      rows: 'D6 D6! D6',
      fails: 'refused',
    },
    {
      id: '[attacher#D7]',
      given: 'a node whose id is unknown',
      seen,
      looks: [{ knownNodeId: refuse('no node') }],
      rows: 'D7! D7',
      fails: 'no node',
    },
    {
      id: '[attacher#D8]',
      given: 'one without our finalizer, but with a publication',
      seen: { attachment: free, publication: own },
      rows: 'D8 D10',
    },
    {
      id: '[attacher#D8]',
      given: 'one without our finalizer in a forced run',
      seen: { attachment: free, isForced: true },
      rows: 'D8 D10',
    },
    {
      id: '[attacher#D8]',
      given: 'a call for the same volume and node in flight',
      seen,
      answers: { unpublish: 'busy' },
      rows: 'D8 D8',
      outcome: busy,
    },
    {
      id: '[attacher#D8]',
      given: 'an unpublish that failed',
      seen,
      answers: { unpublish: full },
      rows: 'D8 D8! D8',
      fails: full.message,
    },
    {
      id: '[attacher#D9]',
      given: 'one that is gone with our finalizer',
      seen,
      looks: [seen, seen, gone],
      rows: 'D8 D9 G1',
    },
    { id: '[attacher#G1]', given: 'one that is gone during the call', seen, looks: [seen, gone], rows: 'D8 G1' },
    {
      id: '[attacher#D9]',
      given: 'a finalizer of ours that could not be removed',
      seen,
      looks,
      answers: { release: refused },
      rows: 'D8 D9 D9! D9',
      fails: 'could not mark as detached: refused',
    },
    ...[
      { attached: true },
      { attached: false, attachmentMetadata: { a: 'b' } },
      { attached: false, detachError: { message: 'no' } },
    ].map((status) => ({
      id: '[attacher#D10]',
      given: `one that others hold, and the status ${Object.keys(status).join()}`,
      seen,
      looks: [seen, { attachment: anAttachment({ deleting: 'yes', finalizers: ['x/y'], status }) }],
      rows: 'D8 D10 D10',
    })),
    {
      id: '[attacher#D10]',
      given: 'one that others hold, without a status',
      seen,
      looks: [seen, { attachment: withoutStatus(free) }],
      rows: 'D8 D10',
    },
    {
      id: '[attacher#D10]',
      given: 'a status that could not be saved',
      seen,
      looks,
      answers: { saveDetached: refused },
      rows: 'D8 D9 D10 D10! D10',
      fails: 'could not mark as detached: refused',
    },
  ])(title, check);

  it('[attacher#D8] given secrets, then the call carries them; given an in-tree volume, then it is one of a migrated volume', async () => {
    const calls = [
      await walk({ seen: { ...seen, volume: withSecret }, looks }),
      await walk({ seen: { ...seen, volume: inTree }, looks }),
    ];
    expect(calls.flatMap(({ said }) => said('unpublish'))).toEqual([
      [{ ...undo, secrets: { key: 'x' } }],
      [{ ...undo, volumeId: diskHandle, migrated: true }],
    ]);
  });
});
