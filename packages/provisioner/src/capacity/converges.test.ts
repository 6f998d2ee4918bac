// SPDX-License-Identifier: Apache-2.0
/** Whatever happens to nodes, classes, objects, driver, API server and process: in the end there is exactly one object for each item. */
import {
  type CSINode,
  csiNodes,
  csiStorageCapacities,
  nodes,
  type Resource,
  storageClasses,
} from '@csi-sidecars/runtime';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { aNode, aNodeDeployment, driverName } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  aPublisher,
  capacities,
  counted,
  managed,
  namespace,
  pollMs,
  show,
} from '../../testing/capacity-fixture.ts';
import type { Fixture } from '../../testing/provisioner-fixture.ts';
import { managedByOf } from './managed-by.ts';
import { labels as labelNames } from './object.ts';

const nodeNames = ['n1', 'n2', 'n3'];
const zones = ['a', 'b', 'c'];
const classNames = ['fast', 'slow'];
const drivers = ['driver', 'other'];

type Labels = Readonly<Record<string, string>>;
interface Story {
  readonly p: Fixture;
  readonly pick: <T>(list: readonly T[]) => T;
  /** Those of the objects that the program manages. */
  readonly labels: Labels;
}

interface Deployment {
  readonly labels: Labels;
  readonly start: (options: Parameters<typeof aPublisher>[0]) => Promise<Fixture>;
  /** `class segment` of the objects that there should be, computed from the API server alone. */
  readonly expected: (p: Fixture) => readonly string[];
}

function removeIfThere({ server: { objects } }: Fixture, resource: Resource, name: string): void {
  const ref = { ...(resource.namespaced ? { namespace } : {}), name };
  if (objects.get(resource, ref) !== undefined) objects.remove(resource, ref);
}

type Event = (story: Story) => void;

const events: readonly Event[] = [
  ({ p, pick }) => {
    const [node, csiNode] = aNode(pick(nodeNames), pick(zones));
    for (const object of [node, csiNode]) p.server.seed(object);
  },
  ({ p, pick }) => removeIfThere(p, nodes, pick(nodeNames)),
  ({ p, pick }) => removeIfThere(p, csiNodes, pick(nodeNames)),
  ({ p, pick }) => {
    const name = pick(nodeNames);
    if (p.server.objects.get(csiNodes, { name }) === undefined) return;
    const keys = pick([['zone'], [], undefined]);
    const entries = keys === undefined ? [] : [{ name: driverName, nodeID: name, topologyKeys: keys }];
    p.server.objects.change(csiNodes, { name }, (object: CSINode) => ({ ...object, spec: { drivers: entries } }));
  },
  ({ p, pick }) => {
    const name = pick(classNames);
    const provisioner = pick(drivers) === 'driver' ? driverName : 'other';
    removeIfThere(p, storageClasses, name);
    p.server.seed(aLateClass(name, { metadata: { name, uid: `uid-${p.server.requests.length}` }, provisioner }));
  },
  ({ p, pick }) => removeIfThere(p, storageClasses, pick(classNames)),
  ({ p, pick }) => {
    const all = capacities(p);
    if (all.length === 0) return;
    p.server.objects.remove(csiStorageCapacities, { namespace, name: pick(all).metadata?.name ?? '' });
  },
  ({ p, pick, labels: ours }) => {
    const labels = pick([ours, {}]);
    const name = `stray-${p.server.requests.length}`;
    p.server.seed(aCapacity({ name, className: pick(classNames), zone: pick(zones), capacity: '1Mi', labels }));
  },
  ({ p, pick }) =>
    void p.driver.faults.add({
      method: 'GetCapacity',
      times: pick([1, 3]),
      action: { kind: 'fail', code: 'Internal' },
    }),
  ({ p, pick }) => {
    const verb = pick(['create', 'update', 'delete']);
    const fault = pick([
      { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      { kind: 'break', point: 'after', failure: 'eof' },
    ] as const);
    p.faults.push(faultOn(`${verb} csistoragecapacities`, fault));
  },
  ({ p }) => p.server.endWatches('broken'),
];

function classesOf({ server }: Fixture): readonly string[] {
  return server.objects
    .list(storageClasses)
    .filter(({ provisioner }) => provisioner === driverName)
    .map(({ metadata }) => metadata?.name ?? '');
}

const lines = (segments: Iterable<string>, p: Fixture): readonly string[] =>
  [...segments].flatMap((segment) => classesOf(p).map((name) => `${name} ${segment} 1Ti max 1Ti`)).sort();

function segmentsOfCluster({ server }: Fixture): ReadonlySet<string> {
  return new Set(
    server.objects.list(csiNodes).flatMap((csiNode: CSINode) => {
      const node = server.objects.get(nodes, { name: csiNode.metadata?.name ?? '' });
      const [driver] = csiNode.spec.drivers;
      if (node === undefined || driver === undefined) return [];
      return driver.topologyKeys?.length === 0 ? ['{}'] : [`zone=${node.metadata?.labels?.['zone']}`];
    }),
  );
}

const central: Deployment = {
  labels: managed,
  start: aPublisher,
  expected: (p) => lines(segmentsOfCluster(p), p),
};

/** Its zone does not depend on the Node object. */
const ofNode: Deployment = {
  labels: { ...managed, [labelNames.managedBy]: managedByOf('n1') },
  start: (options) =>
    aPublisher({
      ...options,
      settings: { node: aNodeDeployment('n1', { segments: { zone: 'b' } }) },
      capacity: { managedBy: managedByOf('n1') },
    }),
  expected: (p) => lines(['zone=b'], p),
};

interface StoryStep {
  readonly event: number;
  readonly choices: readonly number[];
  readonly then: 'go on' | 'settle' | 'wait' | 'restart';
}

const story = fc.array(
  fc.record({
    event: fc.nat(events.length - 1),
    choices: fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }),
    then: fc.constantFrom('go on', 'go on', 'settle', 'settle', 'wait', 'restart'),
  }) satisfies fc.Arbitrary<StoryStep>,
  { minLength: 10, maxLength: 40 },
);

/** What is there in the end, and what should be. */
async function play(
  { labels, start, expected }: Deployment,
  steps: readonly StoryStep[],
): Promise<readonly [readonly string[], readonly string[], string]> {
  let p = await start({ seed: [aLateClass(), ...aNode('n1', 'a')] });
  for (const { event, choices, then } of steps) {
    const left = [...choices];
    const pick = <T>(list: readonly T[]): T => list[(left.shift() ?? 0) % list.length] as T;
    events[event]?.({ p, pick, labels });
    if (then === 'settle') await p.settle();
    if (then === 'wait') await p.clock.advance(5_000);
    if (then === 'restart') p = await start({ cluster: p.crash(), seed: [] });
  }
  p.driver.faults.clear();
  p.faults.length = 0;
  await p.clock.advance(10 * pollMs);
  const ours = capacities(p).filter(({ metadata }) => Object.keys(metadata?.labels ?? {}).length > 0);
  return [ours.map(show).sort(), expected(p), counted(p)];
}

it.each([
  { name: 'a central deployment', deployment: central },
  { name: 'the instance of a node', deployment: ofNode },
])(
  'given $name and any story, then in the end there is one object for each item, and no other managed one',
  async ({ deployment }) => {
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        const [found, wanted, counts] = await play(deployment, steps);
        expect(found).toEqual(wanted);
        expect(counts).toBe(`${wanted.length}/${wanted.length}/0`);
      }),
      { numRuns: 60, seed: 20_261_123 },
    );
  },
  120_000,
);
