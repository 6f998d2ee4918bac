// SPDX-License-Identifier: Apache-2.0
/** What is read for the request of a claim, what prevents it, and the request itself. */
import { refuse } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aContent, aSnapshot, aVolume, driverName } from '../../testing/builders.ts';
import {
  answers,
  context,
  final,
  type StateFacts,
  plan,
  settling,
  walkClaim,
  type WalkOfClaim,
  withSecret,
} from '../../testing/claim-states.ts';
import { fromClaim, fromSnapshot } from '../../testing/sources.ts';
import { annotations, snapshotSourceProtection } from '../names.ts';
import type { PlanAnswer } from './plan.ts';

const kept = `; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`;
const restoring = { spec: fromSnapshot };
const found = <T>(object: T) => ({ kind: 'found', object }) as const;
const failed = { kind: 'failed', message: 'no' } as const;
const snapshot = { kind: 'snapshot', snapshot: found(aSnapshot()), content: found(aContent()) } as const;
const ofProtected = { ...snapshot, snapshot: found(aSnapshot({ finalizers: [snapshotSourceProtection] })) };
const says = { createVolume: answers(final) };
const nodeGone: StateFacts = { plan: () => ({ kind: 'nodeGone', message: 'gone' }) };
const planOf = (changes: Partial<Extract<PlanAnswer, { kind: 'planned' }>['plan']>): StateFacts => ({
  plan: () => ({ kind: 'planned', plan: { ...plan, ...changes } }),
});
const outside: StateFacts = { plan: () => ({ kind: 'outside', message: 'outside' }) };
const withClass = planOf({ attributesClass: 'gold' });
const called = 'C22 lookAgain, C22 createVolume first, C23 settle, C23 retry, Warning: no, failure';
const noHandle = (kind: string, name: string): string =>
  `Warning: error getting handle for DataSource Type ${kind} by Name ${name}: error getting`;

type Case = readonly [given: string, walk: WalkOfClaim, text: string];

const cases: readonly Case[] = [
  [
    'of a source that the driver cannot copy',
    { facts: { shape: () => refuse('cannot copy') }, claim: restoring },
    'C18 retry, Warning: cannot copy, failure',
  ],
  [
    'of a snapshot that cannot be read',
    { claim: restoring, says: { readSource: { ...snapshot, snapshot: failed } } },
    `C42 readSource, C44 retry, ${noHandle('VolumeSnapshot', 'daily')} snapshot daily from api server: no, failure`,
  ],
  [
    'of a snapshot that cannot be read while settling',
    { claim: { ...settling, ...restoring }, says: { readSource: { ...snapshot, snapshot: failed } } },
    `C42 readSource, C44 retry, ${noHandle('VolumeSnapshot', 'daily')} snapshot daily from api server: no${kept}, failure, open answer`,
  ],
  [
    'of a claim that cannot be read',
    { claim: { spec: fromClaim }, says: { readSource: { kind: 'claim', source: failed, volume: 'unread' } } },
    `C42 readSource, C44 retry, ${noHandle('PersistentVolumeClaim', 'origin')} PVC origin (namespace "team") from api server: no, failure`,
  ],
  [
    'of a snapshot whose content is read next',
    { claim: restoring, says: { ...says, readSource: { ...snapshot, content: 'unread' }, readBacking: ofProtected } },
    `C42 readSource, C43 readBacking, ${called}`,
  ],
  [
    'of a snapshot that is not protected',
    { claim: restoring, says: { ...says, readSource: snapshot } },
    `C42 readSource, C45 protectSource, ${called}`,
  ],
  [
    'of a snapshot that cannot be protected',
    { claim: restoring, says: { readSource: snapshot, protectSource: new Error('conflict') } },
    'C42 readSource, C45 protectSource, C46 retry, Warning: conflict, failure',
  ],
  [
    'of a protected snapshot',
    { claim: restoring, says: { ...says, readSource: ofProtected } },
    `C42 readSource, ${called}`,
  ],
  [
    'that cannot be planned, of a protected snapshot',
    {
      facts: { plan: () => ({ kind: 'refused', message: 'no topology' }) },
      claim: restoring,
      says: { readSource: ofProtected },
    },
    'C42 readSource, C18 retry, Warning: no topology, failure',
  ],
  [
    'that cannot be planned while settling',
    { facts: { plan: () => ({ kind: 'refused', message: 'bad' }) }, claim: settling },
    `C18 retry, Warning: bad${kept}, failure, open answer`,
  ],
  [
    'for a node that is gone',
    { facts: nodeGone, claim: { node: 'n1' } },
    'C17 reschedule keep finalizer, C17 done, Warning: gone, failure',
  ],
  [
    'for a node that is gone, and the annotation stays',
    { facts: nodeGone, claim: { node: 'n1' }, says: { reschedule: { write: 'failed' } } },
    'C17 reschedule keep finalizer, C17 retry, Warning: gone, failure',
  ],
  ['for a node that is gone, by the alpha annotation', { facts: nodeGone }, 'C18 retry, Warning: gone, failure'],
  [
    'for a node that is gone, while settling',
    { facts: nodeGone, claim: { ...settling, node: 'n1' } },
    `C18 retry, Warning: gone${kept}, failure, open answer`,
  ],
  [
    'for a node outside of the places of the snapshot',
    { facts: outside, claim: { node: 'n1' }, says: { rescheduleWait: 0, beginRescheduleWait: undefined } },
    'C65 rescheduleWait, C65 reschedule keep finalizer, C65 beginRescheduleWait, C65 done, Warning: outside, failure',
  ],
  [
    'for a node outside of the places of the snapshot, too soon after another one',
    { facts: outside, claim: { node: 'n1' }, says: { rescheduleWait: 700 } },
    'C65 rescheduleWait, C65 requeueAfter 700',
  ],
  [
    'for a node outside of the places of the snapshot, and the annotation stays',
    { facts: outside, claim: { node: 'n1' }, says: { rescheduleWait: 0, reschedule: { write: 'failed' } } },
    'C65 rescheduleWait, C65 reschedule keep finalizer, C65 retry, Warning: outside, failure',
  ],
  [
    'for a node outside of the places of the snapshot, by the alpha annotation',
    { facts: outside },
    'C18 retry, Warning: outside, failure',
  ],
  [
    'with a secret that is missing',
    { facts: planOf(withSecret), says: { readSecret: { kind: 'missing', message: 'none' } } },
    'C19 readSecret, C19 retry, Warning: none, failure',
  ],
  [
    'with a secret that cannot be read, while settling',
    { facts: planOf(withSecret), claim: settling, says: { readSecret: { kind: 'failed', message: 'down' } } },
    `C19 readSecret, C19 retry, Warning: down${kept}, failure, open answer`,
  ],
  [
    'with an attributes class that is missing',
    { facts: withClass, says: { readAttributesClass: new Error('none') } },
    'C20 readAttributesClass, C20 retry, Warning: none, failure',
  ],
  [
    'with an attributes class of another driver',
    { facts: withClass, says: { readAttributesClass: { driverName: 'x' } } },
    `C20 readAttributesClass, C20 retry, Warning: VAC gold referenced in PVC is for driver x which does not match driver name ${driverName}, failure`,
  ],
];

it.each(cases.map(([given, walk, text]) => [given, text, walk] as const))(
  'given a request %s, then C13 announce, %s',
  async (_given, text, walk) => {
    expect((await walkClaim(walk)).text).toBe(`C13 announce, ${text}`);
  },
);

it.each([
  ['for the third time, gone for minutes', 300_000, 'C62 done, failure, given up'],
  ['for the third time, gone for less', 299_999, 'C44 retry, failure, open answer'],
])(
  'given a released request whose snapshot cannot be read %s, then its claim: %s',
  async (_given, deletedForMs, end) => {
    const facts: StateFacts = { remembers: 'open', presence: 'gone', answers: ['final', 'final'], deletedForMs };
    const { text } = await walkClaim({
      facts,
      claim: restoring,
      says: { readSource: { ...snapshot, snapshot: failed } },
    });
    expect(text).toBe(`C42 readSource, ${end}`);
  },
);

it('given a source that gets our finalizer, then the run ends with that; given it cannot, then without', async () => {
  const known = async (more: object): Promise<object> =>
    (await walkClaim({ claim: restoring, says: { ...says, readSource: snapshot, ...more } })).end.known;
  expect(await known({})).toMatchObject({ isSourceProtected: true, source: snapshot });
  expect(await known({ protectSource: new Error('no') })).not.toHaveProperty('isSourceProtected');
});

it('given a claim that is changed while its node is gone, then the run ends with that claim', async () => {
  const claim = aClaim({ annotations: { note: 'newer' } });
  const walk = { facts: nodeGone, claim: { node: 'n1' }, says: { reschedule: { write: 'done', claim } } };
  expect((await walkClaim(walk)).end.known.claim).toBe(claim);
});

describe('the request', () => {
  const callOf = async (walk: WalkOfClaim): Promise<unknown> => {
    const { said } = await walkClaim({ ...walk, says: { ...says, ...walk.says } });
    return said('createVolume')[0]?.[1];
  };

  it('given a plan without secret and attributes class, then it has neither', async () => {
    const pinned = { plan, request: plan.request, isConfirmed: false };
    expect(await callOf({})).toStrictEqual({ pinned, isFirst: true });
  });

  it('given a secret and an attributes class, then it has both', async () => {
    const wanted = { ...withSecret, attributesClass: 'gold' };
    const readSecret = { kind: 'found', values: { key: 'new' } };
    const readAttributesClass = { driverName, parameters: { tier: 'gold' } };
    const request = { ...plan.request, secrets: { key: 'new' }, mutable_parameters: { tier: 'gold' } };
    const pinned = { plan: wanted, request, isConfirmed: false };
    const walk = { facts: planOf(wanted), says: { readSecret, readAttributesClass } };
    expect(await callOf(walk)).toEqual({ pinned, isFirst: true });
    const { said } = await walkClaim({ ...walk, says: { ...says, ...walk.says } });
    expect([said('readSecret'), said('readAttributesClass')]).toEqual([[[withSecret.secrets.provisioner]], [['gold']]]);
  });

  it('given an attributes class without parameters, then it has none of them', async () => {
    const request = { ...plan.request, mutable_parameters: {} };
    expect(await callOf({ facts: withClass, says: { readAttributesClass: { driverName } } })).toMatchObject({
      pinned: { request },
    });
  });

  it('given a snapshot, then it names the handle, and the answer has to name a source if dataSource names the snapshot', async () => {
    const content = { snapshot: { snapshot_id: 'snapshot-handle' } };
    const walk = { says: { readSource: snapshot } };
    const pinned = { request: { ...plan.request, volume_content_source: content }, isConfirmed: true };
    expect(await callOf({ ...walk, claim: restoring })).toMatchObject({ pinned });
    const byReference = { spec: { dataSourceRef: fromSnapshot.dataSource } };
    expect(await callOf({ ...walk, claim: byReference })).toMatchObject({ pinned: { isConfirmed: false } });
  });
});

describe('what a source is judged by', () => {
  const contentOf = (spec: object) => ({
    ...snapshot,
    content: found({ ...aContent(), spec: { ...aContent().spec, ...spec } }),
  });
  const textOf = async (walk: WalkOfClaim): Promise<string> => (await walkClaim({ claim: restoring, ...walk })).text;

  it('given a snapshot of another mode, then --prevent-volume-mode-conversion decides', async () => {
    const walk = { says: { ...says, readSource: contentOf({ sourceVolumeMode: 'Block' }) } };
    const of = (preventsModeConversion: boolean) => ({
      ...context,
      settings: { ...context.settings, preventsModeConversion },
    });
    expect(await textOf({ ...walk, of: of(true) })).toContain('C44');
    expect(await textOf({ ...walk, of: of(false) })).toContain('C45');
  });

  it('given a snapshot of another driver, then the message names the class of the claim', async () => {
    expect(await textOf({ says: { readSource: contentOf({ driver: 'other' }) } })).toContain(
      'is not handled by CSI driver of StorageClass fast',
    );
  });

  it('given a claim whose volume is of another driver, then the message names the class of the clone', async () => {
    const origin = { ...aClaim({ name: 'origin', spec: { volumeName: 'pv' } }), status: { phase: 'Bound' } };
    const volume = aVolume({ phase: 'Bound', spec: { csi: { driver: 'other', volumeHandle: 'h' } } });
    const readSource = { kind: 'claim', source: found(origin), volume: found(volume) };
    expect(await textOf({ claim: { spec: fromClaim }, says: { readSource } })).toContain(
      'is handled by a different CSI driver than requested by StorageClass fast',
    );
  });
});

it.each(['kubernetes.io/gce-pd', 'pd.csi.storage.gke.io'])(
  'given a driver that replaced an in-tree plugin and a class of %s, then its volume is requested',
  async (provisioner) => {
    const driver = { ...context.driver, name: 'pd.csi.storage.gke.io' };
    const claim = { annotations: { [annotations.storageProvisioner]: driver.name } };
    const facts = { storageClass: aClass({ provisioner }) };
    expect((await walkClaim({ facts, claim, says, of: { ...context, driver } })).text).toBe(`C13 announce, ${called}`);
  },
);
