// SPDX-License-Identifier: Apache-2.0
/**
 * A backlog with two lanes. A free slot goes to a lane (lane-share.ts), there to the group whose turn it is (round-robin.ts),
 * there to the key that came first.
 *
 * Guarantees: work conserving, that is, a key is handed out whenever one waits; a key waits in one place; where it belongs is
 * asked when it is added, when it is added again while it waits (its object may have changed sides) and once more when its turn
 * comes. A key that changed sides goes to the tail of its new group and keeps the age it has.
 *
 * Not here: how many run at once (the workers), delays (delayed-adds.ts). Nothing is pre-empted, and no slot is kept free.
 */
import type { Backlog, LaneState, WaitingKey } from './backlog.ts';
import { LaneShare } from './lane-share.ts';
import { RoundRobin } from './round-robin.ts';

export interface LanePlace<Lane extends string> {
  readonly lane: Lane;
  /** Groups of a lane take turns. */
  readonly group: string;
}

export interface LanesOptions<Key extends string, Lane extends string = string> {
  /** Has free slots first. */
  readonly preferred: Lane;
  /** Has a share of them while the preferred lane waits, and all when it does not. */
  readonly other: Lane;
  /**
   * From what is known now; called more than once for a key, so it has to be cheap. Keys for which it throws wait in the
   * other lane, all in one group.
   */
  readonly classify: (key: Key) => LanePlace<Lane>;
  /** Receives what `classify` has thrown. */
  readonly onDefect?: (error: unknown, key: Key) => void;
}

interface Entry<Key extends string> extends WaitingKey<Key> {
  readonly lane: string;
  readonly group: string;
}

export class FairLanes<Key extends string> implements Backlog<Key> {
  readonly #options: LanesOptions<Key>;
  readonly #preferred: Lane<Key>;
  readonly #other: Lane<Key>;
  readonly #share = new LaneShare();
  /** Where each key waits. What a rotation holds besides has moved on, and is passed over. */
  readonly #waiting = new Map<Key, Entry<Key>>();
  /** The lane from which each key in processing came. */
  readonly #inFlight = new Map<Key, Lane<Key>>();

  constructor(options: LanesOptions<Key>) {
    this.#options = options;
    this.#preferred = new Lane(options.preferred);
    this.#other = new Lane(options.other);
  }

  get length(): number {
    return this.#waiting.size;
  }

  add(key: Key, dirtyMs: number): boolean {
    const known = this.#waiting.get(key);
    if (known === undefined) this.#enter(key, dirtyMs, this.#placeOf(key));
    else this.#moveIfElsewhere(known);
    return known === undefined;
  }

  take(): WaitingKey<Key> | undefined {
    // A key is asked for its place once per turn, so each round of this loop either ends it or moves one key for good.
    while (this.#waiting.size > 0) {
      const lane = this.#next();
      const entry = lane.rotation.shift();
      if (entry === undefined || this.#waiting.get(entry.key) !== entry) continue;
      if (this.#moveIfElsewhere(entry)) continue;
      this.#leave(entry);
      lane.inFlight += 1;
      this.#inFlight.set(entry.key, lane);
      return entry;
    }
    return undefined;
  }

  finished(key: Key, workedMs: number): void {
    const lane = this.#inFlight.get(key);
    if (lane === undefined) return;
    this.#inFlight.delete(key);
    lane.inFlight -= 1;
    if (lane === this.#other) this.#share.otherRan(workedMs);
    else if (this.#other.waiting > 0) this.#share.preferredRan(workedMs);
  }

  lanes(nowMs: number): readonly LaneState[] {
    return [this.#preferred, this.#other].map(({ name, waiting, inFlight }) => {
      let oldestMs = nowMs;
      for (const { lane, dirtyMs } of this.#waiting.values()) if (lane === name) oldestMs = Math.min(oldestMs, dirtyMs);
      return { lane: name, waiting, inFlight, oldestWaitingMs: nowMs - oldestMs };
    });
  }

  #next(): Lane<Key> {
    if (this.#other.waiting === 0) return this.#preferred;
    if (this.#preferred.waiting === 0) return this.#other;
    const prefers = this.#share.prefers({ otherInFlight: this.#other.inFlight, inFlight: this.#inFlight.size });
    return prefers ? this.#preferred : this.#other;
  }

  #enter(key: Key, dirtyMs: number, place: LanePlace<string>): void {
    const { lane, group } = place;
    const entry = { key, dirtyMs, lane, group };
    this.#waiting.set(key, entry);
    const home = this.#named(lane);
    home.waiting += 1;
    home.rotation.push(group, entry);
  }

  #leave({ key, lane }: Entry<Key>): void {
    this.#waiting.delete(key);
    this.#named(lane).waiting -= 1;
  }

  #moveIfElsewhere(entry: Entry<Key>): boolean {
    const place = this.#placeOf(entry.key);
    if (place.lane === entry.lane && place.group === entry.group) return false;
    this.#leave(entry);
    this.#enter(entry.key, entry.dirtyMs, place);
    return true;
  }

  #placeOf(key: Key): LanePlace<string> {
    try {
      return this.#options.classify(key);
    } catch (error) {
      this.#options.onDefect?.(error, key);
      return { lane: this.#other.name, group: '' };
    }
  }

  #named(lane: string): Lane<Key> {
    return lane === this.#preferred.name ? this.#preferred : this.#other;
  }
}

class Lane<Key extends string> {
  readonly name: string;
  readonly rotation = new RoundRobin<Entry<Key>>();
  /** Without what has moved on. */
  waiting = 0;
  inFlight = 0;

  constructor(name: string) {
    this.name = name;
  }
}
