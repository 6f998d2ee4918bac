// SPDX-License-Identifier: Apache-2.0
/** Steps of scenarios with user pods: start one, wait for output of its script, end it. */
import assert from 'node:assert/strict';
import { nodeOf } from '../../deployment/deploy.ts';
import { getPod, startPod } from '../pod-life.ts';
import { outputOf } from '../../deployment/pod-output.ts';
import { aUserPod, claimed, container, type UserPod } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';

export const mebibytes = 16;

/** Durable, and its checksum said. */
export function writes(file: string): readonly string[] {
  return [`dd if=/dev/urandom of=${file} bs=1M count=${mebibytes} conv=fsync`, ...reads(file)];
}

export function reads(file: string): readonly string[] {
  return [`echo "sum $(dd if=${file} bs=1M count=${mebibytes} | sha256sum | cut -d' ' -f1)"`];
}

/** A line every tenth of a second, in the volume and in its output, until it is ended. */
export const writesAllTheTime: readonly string[] = [
  'i=0',
  'while true; do i=$((i + 1)); echo $i >> /data/lines; sync /data/lines; echo "line $i"; sleep 0.1; done &',
];

/** A line with the name of the folder says how many lines there are, if each holds its own number. */
export function countsLines(folder: string): readonly string[] {
  return [`echo "${folder} $(awk '$1 != NR { wrong = 1 } END { print wrong ? "wrong" : NR }' /${folder}/lines)"`];
}

export async function startUser(ctx: ScenarioContext, pod: UserPod): Promise<void> {
  await startPod(ctx, aUserPod(pod));
}

/** Starts the pod `writer`, which writes a file to the volume of the claim `claim`, and then lines. Returns the checksum of the file. */
export async function startWriter(ctx: ScenarioContext, file: string): Promise<string> {
  const script = [...writes(file), ...writesAllTheTime];
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script });
  const written = await untilSaid(ctx, 'writer', 'sum');
  await untilSaid(ctx, 'writer', 'line');
  return written;
}

/** The rest of the last line with this word; fails if the pod fails. */
export async function untilSaid(ctx: ScenarioContext, pod: string, word: string): Promise<string> {
  return await ctx.eventually(
    `pod ${pod} says ${word}`,
    async () => {
      const { status } = await getPod(ctx, pod);
      if (status?.phase === 'Failed') throw new Error(`pod ${pod} failed: ${JSON.stringify(status.containerStatuses)}`);
      return lastSaid(ctx, pod, word);
    },
    60_000,
  );
}

export function lastSaid(ctx: ScenarioContext, pod: string, word: string): string | undefined {
  const lines = outputOf(nodeOf(ctx), `${ctx.namespace}_${pod}`, container).split('\n');
  return lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
}

/** The pod has run `writesAllTheTime` since it was started, and it still does. */
export async function stillWrites(ctx: ScenarioContext, pod: string): Promise<void> {
  await makesProgress(ctx, pod);
  const { status } = await getPod(ctx, pod);
  assert.equal(status?.phase, 'Running');
  assert.equal(status?.containerStatuses?.[0]?.restartCount, 0, `${pod} was never disturbed`);
}

export async function makesProgress(ctx: ScenarioContext, pod: string): Promise<void> {
  const before = Number(lastSaid(ctx, pod, 'line'));
  await ctx.eventually(`pod ${pod} writes on`, () => Number(lastSaid(ctx, pod, 'line')) > before + 5);
}
