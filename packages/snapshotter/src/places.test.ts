// SPDX-License-Identifier: Apache-2.0
/** Where a snapshot can be used: what is asked and written beside the rest of the flow, and the events that users see. */
import { ApiError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClass, aContent, deletionSecret, memberOf } from '../testing/builders.ts';
import { endOf, events, type Given, member, refused, snapshot, walk } from '../testing/walk.ts';
import { snapshotKind } from './content/kind.ts';

const noSecret = Object.fromEntries(Object.keys(deletionSecret).map((name) => [name, '']));
const answering = (...topologies: readonly object[]): object => ({ ...snapshot, accessible_topology: topologies });
const inZone = answering({ segments: { zone: 'a' } });
const listed = { query: { entries: [{ snapshot: inZone }], next_token: '' } };
const termsOf = (zone: string) => [{ matchLabelExpressions: [{ key: 'zone', values: [zone] }] }];
const zoned = aClass({ allowedTopologies: termsOf('a') });
const inZoneB = { ...aContent(), spec: { ...aContent().spec, nodeAffinity: termsOf('b') } };
/** Its places have so many characters. */
const large = (length: number) =>
  answering({ segments: { zone: 'x'.repeat(length - JSON.stringify(termsOf('')).length) } });
const { places: _places, ...placeless } = snapshotKind;
const read = 'C28 readCallSecret';
const asked = [read, 'C28 query'];
const notUpdated = 'snapshot controller failed to update content on API server: broken';

it.each<Given & { readonly given: string; readonly steps: readonly string[]; readonly ends: string }>([
  {
    given: 'places that are not known',
    answers: listed,
    steps: [...asked, 'C27 savePlaces', 'C28 noteAsked'],
    ends: 'C28 done',
  },
  {
    given: 'places that cannot be written now',
    answers: { ...listed, savePlaces: refused },
    steps: [...asked, 'C27 savePlaces'],
    ends: `C27 retry: error updating nodeAffinity of volume snapshot content content: ${notUpdated}`,
  },
  { given: 'a driver that was asked before', places: { areAsked: true }, steps: [], ends: 'C8 done' },
  { given: 'a definition that lacks the field', places: { areKept: false }, steps: [], ends: 'C8 done' },
  { given: 'a kind without places', kind: placeless, steps: [], ends: 'C8 done' },
  { given: 'no handle', content: member({ status: { readyToUse: true } }), steps: [], ends: 'C8 done' },
  {
    given: 'a secret without a name',
    content: member({ annotations: { ...memberOf, ...noSecret } }),
    steps: [],
    ends: 'C28 retry: failed to get credentials from annotation for snapshot content content: cannot retrieve secrets for snapshot content "content", err: secret name or namespace not specified',
  },
  {
    given: 'a secret that cannot be read',
    answers: { readCallSecret: refused },
    steps: [read],
    ends: 'C28 retry: broken',
  },
  { given: 'a driver that does not answer', answers: { query: refused }, steps: asked, ends: 'C28 retry: broken' },
  {
    given: 'a driver that does not list the snapshot',
    answers: { query: { entries: [], next_token: '' } },
    steps: asked,
    ends: 'C28 retry: can not find snapshot for snapshotID h',
  },
])(
  'given a ready member and $given, then its steps are $steps, and it ends as $ends',
  async ({ steps, ends, ...given }) => {
    expect(await endOf({ content: member(), topology: 'on', ...given })).toEqual({ steps, ends, kind: 'conclude' });
  },
);

const notHonoured =
  'Warning SnapshotTopologyNotHonoured: allowedTopologies of snapshot class gold are not honoured: CSI driver test.csi.example.com does not report the plugin capability SNAPSHOT_ACCESSIBILITY_CONSTRAINTS';
const notRecorded = 'Warning SnapshotTopologyNotRecorded: where the snapshot can be used is not recorded: ';
const tooLarge = new ApiError({ status: 413, reason: 'RequestEntityTooLarge', message: 'broken' });

it.each<Given & { readonly given: string; readonly saves?: boolean; readonly messages: readonly string[] }>([
  { given: 'places in the answer', answers: { create: { snapshot: inZone } }, saves: true, messages: [] },
  { given: 'a kind without places', kind: placeless, answers: { create: { snapshot: inZone } }, messages: [] },
  {
    given: 'a definition that lacks the field',
    places: { areKept: false },
    answers: { create: { snapshot: inZone } },
    messages: [],
  },
  {
    given: 'topologies that the driver is not asked for',
    topology: 'unsupported',
    class: zoned,
    messages: [notHonoured],
  },
  { given: 'no places in the answer, and those of an administrator', content: inZoneB, messages: [] },
  { given: 'places of 65,536 characters', answers: { create: { snapshot: large(65_536) } }, saves: true, messages: [] },
  {
    given: 'places of 65,537 characters',
    answers: { create: { snapshot: large(65_537) } },
    messages: [`${notRecorded}the topology that the driver answered cannot be stored: it is too large`],
  },
  {
    given: 'topologies that cannot be stored',
    answers: { create: { snapshot: answering({ segments: { '': 'a' } }) } },
    messages: [
      `${notRecorded}the topology that the driver answered cannot be stored: an expression has no key, or values that are no list of strings`,
    ],
  },
  {
    given: 'places that the API server refuses for good',
    answers: { create: { snapshot: inZone }, savePlaces: tooLarge },
    saves: true,
    messages: [`${notRecorded}${notUpdated}`],
  },
])(
  'given $given, then the snapshot is recorded all the same, with the events $messages',
  async ({ saves, messages, ...given }) => {
    const { steps, conclusion } = await walk({ content: aContent(), topology: 'on', ...given });
    expect([conclusion.row, events(conclusion.events)]).toEqual(['C24', messages]);
    expect(steps.includes('C27 savePlaces')).toBe(saves === true);
  },
);

it('given places that were written, then the status is written to the content as it is then', async () => {
  const saved = aContent({ labels: { a: 'b' } });
  const { said } = await walk({ topology: 'on', answers: { create: { snapshot: inZone }, savePlaces: saved } });
  expect(said('saveTaken').map(([content]) => content)).toEqual([saved]);
});
