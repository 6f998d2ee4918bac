// SPDX-License-Identifier: Apache-2.0
/** What each count hands on to the comparison of packages/volume, where the differences are decided. */
import { auditGraceMs, type Finding } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, aVolume, driverName } from '../../testing/builders.ts';
import { listerOf } from '../../testing/lister-of.ts';
import { type CountFacts, createCount } from './count.ts';

const createdMs = Date.parse('2026-01-01T00:00:00Z');
const nowMs = createdMs + 2 * auditGraceMs;
/** The driver replaced an in-tree plugin: attachments of other inline volumes are not compared. */
const inline = { driver: 'ebs.csi.aws.com', volumeHandle: 'volume-1' };
const isAttached = anAttachment(attached);
const created = { ...isAttached, metadata: { ...isAttached.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };

/** The driver lists the volume on no node, unless a test says otherwise. */
function counting(facts: Partial<CountFacts> = {}) {
  const counts: (readonly Finding[])[] = [];
  const count = createCount({ found: (findings) => counts.push(findings as readonly Finding[]) });
  const caches = {
    attachments: listerOf([created]),
    volumes: listerOf([aVolume()]),
    csiNodes: listerOf([aCsiNode(), { metadata: { name: 'node2' }, spec: { drivers: [] } }]),
  };
  const all = { driverName, ...caches, published: publishedOn(), nowMs, ...facts };
  return { counts, countAfter: (ms: number) => count({ ...all, nowMs: all.nowMs + ms }) };
}

const publishedOn = (...nodeIds: string[]) => new Map([['volume-1', new Set(nodeIds)]]);

/** The differences of one count: row, class and node of each. */
function found(facts: Partial<CountFacts>): string {
  const { counts, countAfter } = counting(facts);
  countAfter(0);
  return counts
    .flatMap((findings) => findings.map(({ row, class: kind, node }) => `${row} ${kind} ${node}`))
    .join(', ');
}

it('given an attached volume that the driver does not list on its node, then the attachment is found with its names and its age', () => {
  const { counts, countAfter } = counting();
  countAfter(0);
  const object = { kind: 'VolumeAttachment', name: 'va1' };
  expect(counts).toMatchObject([[{ row: 'O14', handle: 'volume-1', node: 'node1', object, sinceMs: createdMs }]]);
});

it('given counts sooner than a grace after the one before, then they do nothing; a difference in two counts is confirmed', () => {
  const { counts, countAfter } = counting();
  for (const ms of [0, auditGraceMs - 1, auditGraceMs]) countAfter(ms);
  expect(counts.map((findings) => findings.map(({ class: kind }) => kind))).toEqual([
    ['unconfirmed'],
    ['attachedMissing'],
  ]);
});

it.each<{ given: string; facts: Partial<CountFacts>; then: string }>([
  { given: 'an attachment that the driver lists', facts: { published: publishedOn('id-of-node1') }, then: '' },
  {
    given: 'a young attachment that the driver does not list',
    facts: { nowMs: createdMs + 1 },
    then: 'O14 young node1',
  },
  { given: 'one that is not attached', facts: { attachments: listerOf([anAttachment()]) }, then: '' },
  {
    given: 'one that is being deleted',
    facts: { attachments: listerOf([anAttachment({ ...attached, deleting: 'yes' })]) },
    then: '',
  },
  {
    given: 'a published volume without an attachment',
    facts: { attachments: listerOf([]), published: publishedOn('id-of-node1') },
    then: 'O13 unconfirmed id-of-node1',
  },
  {
    given: 'a volume that is published on a node that is gone',
    facts: { published: publishedOn('id-of-node1', 'gone') },
    then: 'O15 unconfirmed gone',
  },
  {
    given: 'an attachment of another driver',
    facts: { attachments: listerOf([anAttachment({ ...attached, attacher: 'other' })]) },
    then: '',
  },
  {
    given: 'an attachment whose volume is unknown',
    facts: { volumes: listerOf([]), published: publishedOn('id-of-node1') },
    then: '',
  },
  {
    given: 'a published volume of another driver',
    facts: {
      attachments: listerOf([]),
      volumes: listerOf([aVolume({ csi: { driver: 'other' } })]),
      published: publishedOn('id-of-node1'),
    },
    then: '',
  },
  {
    given: 'a published volume that is no CSI volume',
    facts: {
      attachments: listerOf([]),
      volumes: listerOf([aVolume({ spec: { csi: undefined as never } })]),
      published: publishedOn('id-of-node1'),
    },
    then: '',
  },
  {
    given: 'an inline volume that is published on a node that is gone',
    facts: {
      attachments: listerOf([anAttachment({ ...attached, source: { inlineVolumeSpec: { csi: inline } } })]),
      volumes: listerOf([]),
      published: publishedOn('id-of-node1', 'gone'),
    },
    then: 'O15 unconfirmed gone',
  },
])('given $given, then this is found: $then', ({ facts, then }) => {
  expect(found(facts)).toEqual(then);
});
