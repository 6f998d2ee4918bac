// SPDX-License-Identifier: Apache-2.0
/**
 * A backlog with two lanes. A free slot goes to a lane (lane-share.ts), in the lane to the group whose turn it is
 * (round-robin.ts), and in the group to the oldest key.
 *
 * Guarantees: work conserving, that is, a key is handed out whenever one waits; a key waits in one place; `classify` is called
 * when a key is added, when it is added again while it waits (its object may have changed), and once more when its turn comes.
 * A key that moves to another lane goes to the tail of its new group and keeps its age.
 *
 * Not here: how many run at once (the workers), delays (delayed-adds.ts). Nothing is pre-empted, and no slot is kept free.
 */
import type { Backlog, LaneState, WaitingKey, WaitingPlace } from './backlog.ts';
import { LaneShare } from './lane-share.ts';
import { RoundRobin } from './round-robin.ts';

export interface LanePlace<Lane extends string> {
  readonly lane: Lane;
  /** Groups of a lane take turns. */
  readonly group: string;
}

export interface LanesOptions<Key extends string, Lane extends string = string> {
  /** The lane that gets free slots first. */
  readonly preferred: Lane;
  /** The lane that gets a share of the slots while keys of the preferred lane wait, and all slots otherwise. */
  readonly other: Lane;
  /** Called more than once for a key, so it has to be cheap. Keys for which it throws wait in the other lane, all in one group. */
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
  /** The place of each waiting key. Other entries of a rotation are out of date and are skipped. */
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
    // Each key is classified once per turn, so each round either ends this loop or moves one key to its final place.
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

  /** Exact while no key moves between groups; a group whose turn comes for an entry that is out of date loses it. */
  placeOf(key: Key): WaitingPlace | undefined {
    const entry = this.#waiting.get(key);
    if (entry === undefined) return undefined;
    const { lane, group, dirtyMs: sinceMs } = entry;
    const sizes = new Map<string, number>();
    let before = 0;
    let isBefore = true;
    for (const each of this.#waiting.values()) {
      if (each.lane !== lane) continue;
      sizes.set(each.group, (sizes.get(each.group) ?? 0) + 1);
      if (each === entry) isBefore = false;
      else if (isBefore && each.group === group) before += 1;
    }
    const { rotation, waiting: depth } = this.#named(lane);
    let place = before + 1;
    let isEarlier = true;
    for (const other of rotation.groups()) {
      if (other === group) isEarlier = false;
      else place += Math.min(sizes.get(other) ?? 0, isEarlier ? before + 1 : before);
    }
    return { lane, place, depth, sinceMs };
  }

  oldestMs(): number | undefined {
    let oldestMs: number | undefined;
    for (const { dirtyMs } of this.#waiting.values()) oldestMs = Math.min(oldestMs ?? dirtyMs, dirtyMs);
    return oldestMs;
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
  /** The number of keys, without the entries that are out of date. */
  waiting = 0;
  inFlight = 0;

  constructor(name: string) {
    this.name = name;
  }
}
