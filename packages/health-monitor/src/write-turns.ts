// SPDX-License-Identifier: Apache-2.0
/**
 * Who may write while the API server drops the field, or forbids the writes to a namespace: one claim in each cycle, as a probe. The others wait,
 * and all of them may write as soon as one write has succeeded.
 */
import type { ObjectKey } from '@csi-sidecars/runtime';

export interface WriteTurns {
  /** A cycle begins: one more probe may be sent. */
  readonly beginCycle: () => void;
  /** Only a write that adds the field waits for dropped fields: an API server that drops it changes and removes what a claim has. */
  readonly take: (key: ObjectKey, write: Write) => boolean;
  /** The API server dropped the field. True: that is new. */
  readonly noteDropped: (key: ObjectKey) => boolean;
  readonly noteForbidden: (key: ObjectKey, namespace: string) => void;
  /** A write has succeeded. Returns the keys that waited for that. */
  readonly noteStored: (write: Write) => { readonly released: readonly ObjectKey[]; readonly endsDrops: boolean };
  readonly forget: (key: ObjectKey) => void;
}

export interface Write {
  readonly kind: 'add' | 'change';
  readonly namespace: string;
}

interface Closed {
  probes: number;
  readonly waiting: Set<ObjectKey>;
}

export function createWriteTurns(): WriteTurns {
  let drops: Closed | undefined;
  const forbidden = new Map<string, Closed>();
  const all = (): readonly Closed[] => [...(drops === undefined ? [] : [drops]), ...forbidden.values()];
  const closedFor = ({ kind, namespace }: Write): readonly Closed[] =>
    [kind === 'add' ? drops : undefined, forbidden.get(namespace)].filter((closed) => closed !== undefined);
  return {
    beginCycle: () => {
      for (const closed of all()) closed.probes = 1;
    },
    take: (key, write) => {
      const closed = closedFor(write);
      if (closed.every(({ probes }) => probes > 0)) {
        for (const each of closed) {
          each.probes -= 1;
          each.waiting.delete(key);
        }
        return true;
      }
      for (const each of closed) each.waiting.add(key);
      return false;
    },
    noteDropped: (key) => {
      const isNew = drops === undefined;
      drops ??= { probes: 0, waiting: new Set() };
      drops.waiting.add(key);
      return isNew;
    },
    noteForbidden: (key, namespace) => {
      const closed = forbidden.get(namespace) ?? { probes: 0, waiting: new Set() };
      closed.waiting.add(key);
      forbidden.set(namespace, closed);
    },
    noteStored: (write) => {
      const opened = closedFor(write);
      const endsDrops = write.kind === 'add' && drops !== undefined;
      if (endsDrops) drops = undefined;
      forbidden.delete(write.namespace);
      return { released: opened.flatMap(({ waiting }) => [...waiting]), endsDrops };
    },
    forget: (key) => {
      for (const { waiting } of all()) waiting.delete(key);
    },
  };
}
