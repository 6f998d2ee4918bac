// SPDX-License-Identifier: Apache-2.0
/**
 * Which streams of a connection are open, and what became of the others (RFC 9113, section 5.1). A stream that both ends
 * have ended is forgotten, but for a short memory of how it ended: frames that were in flight are no violation, later ones are.
 */
import type { Position } from './frames.ts';

export type Role = 'client' | 'server';

/** How far the peer is on a stream. */
export type PeerPhase = 'beforeHeaders' | 'afterHeaders' | 'done';

export interface Stream {
  readonly id: number;
  peer: PeerPhase;
  /** We have sent our last frame. */
  isSaid: boolean;
  /** Content that came, and the length that the peer announced. */
  received: number;
  announced: number | undefined;
  /** Bytes of the window that the peer has used and has not got back. */
  used: number;
}

/**
 * - `idle`: it may still begin
 * - `skipped`: it never began, and a later one did
 * - `open`: the peer may say more
 * - `halfClosed`: the peer has said its last, we have not
 * - `closed`: the peer ended it or reset it
 * - `cut`: we reset it, or it ended too long ago to know how
 */
export type StreamState = 'idle' | 'skipped' | 'open' | 'halfClosed' | 'closed' | 'cut';

export interface Streams {
  readonly count: () => number;
  readonly get: (id: number) => Stream | undefined;
  readonly ids: () => readonly number[];
  readonly stateOf: (id: number) => StreamState;
  /** Begins our next stream. */
  readonly begin: () => number;
  /** The peer begins a stream. */
  readonly accept: (id: number) => Stream;
  /** The peer began a stream that is not wanted. */
  readonly refuse: (id: number) => void;
  readonly peerSaid: (stream: Stream, position: Position) => void;
  readonly weSaid: (id: number) => void;
  readonly end: (id: number, how: 'closed' | 'cut') => void;
  readonly clear: () => void;
  /** The last stream that the peer began, for GOAWAY. */
  readonly lastOfPeer: () => number;
}

const remembered = 200;

export function createStreams(role: Role): Streams {
  const live = new Map<number, Stream>();
  const ended = new Map<number, 'closed' | 'cut'>();
  let nextOfOurs = 1;
  let lastOfPeer = 0;
  let forgottenUpTo = 0;

  function end(id: number, how: 'closed' | 'cut'): void {
    live.delete(id);
    ended.set(id, how);
    if (ended.size <= remembered) return;
    const [oldest = 0] = ended.keys();
    ended.delete(oldest);
    forgottenUpTo = Math.max(forgottenUpTo, oldest);
  }
  function settle(stream: Stream): void {
    if (stream.peer === 'done' && stream.isSaid && live.has(stream.id)) end(stream.id, 'closed');
  }
  function add(id: number, peer: PeerPhase): Stream {
    const stream: Stream = { id, peer, isSaid: false, received: 0, announced: undefined, used: 0 };
    live.set(id, stream);
    return stream;
  }
  function hasBegun(id: number): boolean {
    return id % 2 === 1 && (role === 'client' ? id < nextOfOurs : id <= lastOfPeer);
  }

  return {
    count: () => live.size,
    get: (id) => live.get(id),
    ids: () => [...live.keys()],
    stateOf: (id) => {
      const stream = live.get(id);
      if (stream !== undefined) return stream.peer === 'done' ? 'halfClosed' : 'open';
      if (!hasBegun(id)) return 'idle';
      return ended.get(id) ?? (id <= forgottenUpTo ? 'cut' : 'skipped');
    },
    begin: () => {
      const id = nextOfOurs;
      nextOfOurs += 2;
      add(id, 'beforeHeaders');
      return id;
    },
    accept: (id) => {
      lastOfPeer = id;
      return add(id, 'afterHeaders');
    },
    refuse: (id) => {
      lastOfPeer = id;
      end(id, 'cut');
    },
    peerSaid: (stream, position) => {
      if (position === 'last') stream.peer = 'done';
      settle(stream);
    },
    weSaid: (id) => {
      const stream = live.get(id);
      if (stream === undefined) return;
      stream.isSaid = true;
      settle(stream);
    },
    end,
    clear: () => live.clear(),
    lastOfPeer: () => lastOfPeer,
  };
}
