// SPDX-License-Identifier: Apache-2.0
/**
 * `memory`: a process that lives remembers nothing of an object that is long gone. Looks at every Map and Set that the programs have made,
 * by the place in the source where it was made.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { World } from '../world.ts';

export interface MemoryWatch {
  /** Forgets what earlier stories have made. */
  readonly begin: (world: World) => void;
  /** What live processes still remember of the objects of the story. */
  readonly left: () => readonly string[];
}

/** After it nothing is remembered: longer than the periods after which controllers look through their memory. */
export const forgetMs = 1_200_000;

/** Names and UIDs of the objects of a story. */
const ofObjects =
  /\b(claim|snap|pod|volume)-\d|\b(pvc|content|snapcontent)-[0-9a-f]|csi-[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-/;
/** Limited by their number, not by what is there. */
const limited = ['runtime/src/event-recorder/correlator.ts', 'runtime/src/informer/compact.ts'];

/** Between a collection and the line that made it. */
const frames = 12;

interface Made {
  readonly place: string;
  readonly process: string;
  readonly collection: WeakRef<ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>>;
}

/** Replaces Map and Set. Has to be called before any other module is loaded. */
export function watchMemory(): MemoryWatch {
  // An error keeps the closures of its stack alive until the stack is read.
  Error.stackTraceLimit = 0;
  setFlagsFromString('--expose_gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  let made: Made[] = [];
  let current: World | undefined;

  function note(collection: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): void {
    Error.stackTraceLimit = frames;
    const place = placeIn(new Error().stack);
    Error.stackTraceLimit = 0;
    const process = current?.schedule.running;
    if (place === undefined || process === undefined || limited.some((each) => place.startsWith(each))) return;
    made.push({ place, process, collection: new WeakRef(collection) });
  }

  const { Map: PlainMap, Set: PlainSet } = globalThis;
  globalThis.Map = class Map<K, V> extends PlainMap<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      note(this);
    }
  };
  globalThis.Set = class Set<T> extends PlainSet<T> {
    constructor(values?: Iterable<T> | null) {
      super(values);
      note(this);
    }
  };

  return {
    begin(world) {
      made = [];
      current = world;
    },
    left() {
      collectGarbage();
      const live = current?.installation.containers.flatMap((each) => each.process()?.name ?? []) ?? [];
      return made.flatMap(({ place, process, collection }) => {
        if (!live.includes(process)) return [];
        const keys = [...(collection.deref()?.keys() ?? [])].map(String).filter((key) => ofObjects.test(key));
        return keys.length === 0 ? [] : [`memory: ${process} still has ${keys.join(', ')} in ${place}`];
      });
    },
  };
}

/** The first frame in the source of a package that ships. */
function placeIn(stack = ''): string | undefined {
  const [, place] = /\/packages\/((?!world|sim|test-driver)[a-z-]+\/src\/[^:]+:\d+)/.exec(stack) ?? [];
  return place;
}
