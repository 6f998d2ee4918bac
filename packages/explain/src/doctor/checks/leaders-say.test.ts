// SPDX-License-Identifier: Apache-2.0
/** What doctor finds with `--via-pod` only. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, driver, pod, storageClass } from '../../../testing/cluster.ts';
import {
  controller,
  doctor,
  driverContainer,
  installation,
  programs,
  seenIn,
  sidecar,
} from '../../../testing/installation.ts';
import { anAnswer } from '../../../testing/leader-answer.ts';
import type { AskPod } from '../../port-forward/pod-port.ts';

const all = [
  'CONTROLLER_SERVICE',
  'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'EXPAND_VOLUME',
  'MODIFY_VOLUME',
  'GET_CAPACITY',
];
const without = (...missing: readonly string[]) => all.filter((each) => !missing.includes(each));
const queue = (oldestSeconds: number | null, running: number) => ({
  name: 'claims',
  depth: 40,
  running,
  workers: 10,
  oldestSeconds,
});

/** Its pod serves HTTP at a port of each program. */
function served(): FakeHost {
  const host = installation();
  const containers = programs.map((program, index) => sidecar(program, [`--http-endpoint=:${8_080 + index}`]));
  add(
    host,
    controller({ containers: [driverContainer, ...containers] }),
    pod('controller-7d9-x', {
      metadata: { namespace: 'storage', creationTimestamp: '2024-01-01T00:00:00Z' },
      spec: { containers },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  );
  return host;
}

interface Says {
  readonly capabilities?: readonly string[];
  readonly of?: string;
  readonly queues?: readonly object[];
}

function leaders({ capabilities = all, of = driver, queues = [] }: Says = {}): AskPod {
  return async ({ port }) => {
    const program = programs[port - 8_080];
    const known = { name: of, connected: true, capabilities };
    const answer = anAnswer([], { program, driver: known, queues });
    return { status: 200, contentType: 'application/json', body: JSON.stringify(answer) };
  };
}

const flags = ['--via-pod', '--only=driver,load'];
const examined = (host: FakeHost, says: Says) => doctor(host, flags, { askPod: leaders(says) });

it('given leaders whose driver can do everything, when examined, then nothing is found', async () => {
  const { code, found } = await examined(served(), {});
  expect([code, found]).toEqual([0, []]);
});

it.each([
  { missing: 'PUBLISH_UNPUBLISH_VOLUME', by: 'CSIDriver a.example.com', change: () => undefined },
  { missing: 'EXPAND_VOLUME', by: 'StorageClass gp', change: () => undefined },
  { missing: 'CREATE_DELETE_SNAPSHOT', by: 'VolumeSnapshotClass snap', change: () => undefined },
  {
    missing: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
    by: 'StorageClass zonal',
    change: (host: FakeHost) =>
      add(
        host,
        storageClass('zonal', {
          volumeBindingMode: 'WaitForFirstConsumer',
          allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['z1'] }] }],
        }),
      ),
  },
  {
    missing: 'MODIFY_VOLUME',
    by: 'VolumeAttributesClass gold',
    change: (host: FakeHost) =>
      add(host, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name: 'gold' },
        driverName: driver,
      }),
  },
])('given a driver without $missing, when examined, then driver-14 names $by', async ({ missing, by, change }) => {
  const host = served();
  change(host);
  const { found, document } = await examined(host, { capabilities: without(missing) });
  expect(found).toEqual(['info driver-14']);
  expect(document.findings[0]?.evidence[0]?.object).toBe(by);
  expect(seenIn(document)).toContain(without(missing).toSorted().join(', '));
});

it('given a capability that is missing and that nothing counts on, when examined, then nothing is found', async () => {
  expect((await examined(served(), { capabilities: without('MODIFY_VOLUME', 'GET_CAPACITY') })).found).toEqual([]);
});

it('given leaders that say nothing, or serve another driver, when examined, then driver-14 is not run', async () => {
  const silent: AskPod = () => Promise.reject(new Error('refused'));
  const unanswered = await doctor(served(), flags, { askPod: silent });
  const other = await examined(served(), { of: 'b.example.com' });
  for (const { code, found, document } of [unanswered, other]) {
    expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['driver-14']]);
  }
});

it('given no --via-pod, when examined, then no leader is asked, and nothing is missing', async () => {
  const never: AskPod = () => Promise.reject(new Error('it was asked'));
  const { code, found, host } = await doctor(served(), ['--only=driver,load'], { askPod: never });
  expect([code, found, host.logged()]).toEqual([0, [], '']);
});

it('given keys that have waited for ten minutes, and workers that are all busy, when examined, then it finds warn load-2', async () => {
  const { found, document } = await examined(served(), { queues: [queue(600, 10)] });
  // One for each program: all of them answer alike here.
  expect(new Set(found)).toEqual(new Set(['warn load-2']));
  expect(seenIn(document)).toEqual(expect.arrayContaining(['600 s', '10, 10']));
});

it.each([
  ['an idle worker', queue(600, 9)],
  ['keys that have just come', queue(2, 10)],
  ['no key', queue(null, 10)],
])('given a queue with %s, when examined, then nothing is found', async (_, each) => {
  expect((await examined(served(), { queues: [each] })).found).toEqual([]);
});
