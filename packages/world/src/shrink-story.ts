// SPDX-License-Identifier: Apache-2.0
import { shrink } from '@csi-sidecars/runtime/testing';
import type { MemoryWatch } from './invariants/memory.ts';
import { runStory } from './run-story.ts';
import type { Happening, Story } from './story.ts';

/** The shortest story found that breaks the same invariant. */
export async function shrinkStory(story: Story, memory?: MemoryWatch): Promise<Story> {
  const wanted = namesOf((await runStory(story, memory)).breaches);
  const happenings = await shrink({
    parts: story.happenings,
    fails: async (parts) => {
      const { breaches } = await runStory({ ...story, happenings: parts }, memory);
      return [...namesOf(breaches)].some((name) => wanted.has(name));
    },
    simpler,
  });
  return { ...story, happenings };
}

/** The invariants that were broken: what stands before the colon. */
function namesOf(breaches: readonly string[]): ReadonlySet<string> {
  return new Set(breaches.map((text) => text.split(':', 1)[0] ?? ''));
}

/** Durations in whole seconds, moments in tens of seconds. */
function simpler(happening: Happening): readonly Happening[] {
  const { atMs, args } = happening;
  const rounded = Math.round(atMs / 10_000) * 10_000;
  const shorter = Object.entries(args).flatMap(([name, value]) =>
    /ms$/i.test(name) && typeof value === 'number' && value > 1_000
      ? [{ ...happening, args: { ...args, [name]: 1_000 } }]
      : [],
  );
  return [...(rounded === atMs ? [] : [{ ...happening, atMs: rounded }]), ...shorter];
}
