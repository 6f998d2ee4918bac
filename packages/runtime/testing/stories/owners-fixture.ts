// SPDX-License-Identifier: Apache-2.0
/** A controller that copies an annotation into a label, with mistakes to choose, and its stories. */
import type { KubeObject } from '../../src/api/objects.ts';
import { persistentVolumes } from '../../src/api/resource.ts';
import { unlessAborted } from '../../src/api/transport.ts';
import { withDeadline } from '../../src/clock/deadline.ts';
import { type Conclusion, done, dropped, retry } from '../../src/controller/reconcile.ts';
import { keyOf, type ObjectKey, splitKey } from '../../src/informer/key.ts';
import { defineLoop } from '../../src/loop/define-loop.ts';
import { conclude, type Flow, orEnd, perform } from '../../src/loop/flow.ts';
import type { Loop, LoopTypes, Run } from '../../src/loop/loop.ts';
import type { Stories } from './index.ts';

interface Owners extends LoopTypes {
  key: ObjectKey;
  watched: { volumes: KubeObject };
  observed: { volume: KubeObject | undefined };
  conclusion: Conclusion;
}

export interface Mistakes {
  readonly givesUp?: true;
  /** Writes what is there already. */
  readonly always?: true;
  /** Volumes that were seen once are not looked at again. */
  readonly memory?: Set<ObjectKey>;
  /** In place of the owner. */
  readonly label?: string;
  /** Before the label is written. */
  readonly spoils?: (volume: KubeObject) => void;
  /** Outside of the cluster. */
  readonly publish?: (key: ObjectKey, owner: string) => Promise<unknown>;
  /** Waits for the answer of `publish` for ever. */
  readonly hasNoTimeout?: true;
}

let touches = 0;

export function owners({ givesUp, always, memory, label, spoils, publish, hasNoTimeout }: Mistakes): Loop {
  async function setLabel({ client, clock, key, signal }: Run<Owners>, owner: string): Promise<void> {
    const published = Promise.resolve(publish?.(key, owner));
    const deadline = { parent: signal, ms: hasNoTimeout ? Infinity : 10_000 };
    await withDeadline(clock, deadline, (own) => unlessAborted(published, own));
    const body = { metadata: { labels: { owner }, annotations: { touched: always && `${(touches += 1)}` } } };
    await client.patch({ resource: persistentVolumes, ref: splitKey(key) }, { type: 'merge', body }, { signal });
  }
  function* flow({ volume }: Owners['observed']): Flow<Conclusion> {
    const owner = volume?.metadata?.annotations?.['owner'];
    if (volume === undefined || owner === undefined) return conclude('L1', done);
    if (!always && volume.metadata?.labels?.['owner'] === owner) return conclude('L2', done);
    if (memory?.has(keyOf(volume))) return conclude('L2', done);
    spoils?.(volume);
    yield* orEnd(perform('L3', setLabel, label ?? owner), (error) => conclude('L4', givesUp ? dropped : retry(error)));
    memory?.add(keyOf(volume));
    return conclude('L3', done);
  }
  return defineLoop<Owners>({
    name: 'owners',
    settings: { workerThreads: 2, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
    watches: { volumes: { resource: persistentVolumes } },
    primary: { watch: 'volumes', keyOf },
    handlers: { volumes: ({ current }) => current && keyOf(current) },
    observe: (caches, key) => ({ volume: caches.volumes.get(key) }),
    flow,
  });
}

const names = ['a', 'b', 'c'];

export function storiesOf(mistakes: Mistakes, more: Partial<Stories> = {}): Stories {
  return {
    // A loop that writes without end would send twenty requests a second.
    controller: () => ({ name: 'owners', loops: [owners(mistakes)], lease: { name: 'owners' }, qps: 1, burst: 1 }),
    objects: names.map((name) => ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: {} })),
    acts: {
      'a user names an owner': (objects, dice) =>
        objects.change(persistentVolumes, { name: dice.pick(names) }, (object) => ({
          ...object,
          metadata: { ...object.metadata, annotations: { owner: dice.pick(['ada', 'grace']) } },
        })),
    },
    finally: (objects) => {
      const isOwned = ({ metadata }: KubeObject): boolean =>
        metadata?.labels?.['owner'] === metadata?.annotations?.['owner'];
      if (!objects.list(persistentVolumes).every(isOwned)) throw new Error('a label is not the owner');
    },
    ...more,
  };
}
