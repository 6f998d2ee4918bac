// SPDX-License-Identifier: Apache-2.0
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { type AllValues, planOf, readControllers, type StartedAll } from './plan.ts';
import { allProgram } from './program.ts';
import { sidecars } from './sidecars.ts';

/** The plan for a command line, and the log. */
function planned(args: readonly string[], programs = sidecars) {
  const parsed = parseFlags<AllValues>(allProgram.flags, allProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  const log = recordingLogger();
  return { plan: planOf({ ...parsed, log } as unknown as StartedAll, programs), log };
}

function refusalOf(args: readonly string[]): unknown {
  try {
    planned(args);
    return undefined;
  } catch (error) {
    return error;
  }
}

it('given one name that does not exist, then it is refused', () => {
  expect(() => readControllers('zebra')).toThrow(
    /^unknown controllers: zebra, valid values are: attacher, .*, resizer, snapshotter$/,
  );
});

it('given a command line in the form of Go, then it is planned', () => {
  const { plan, log } = planned(['-controllers=attacher', '-attacher-timeout=5s', '--shutdown-timeout=1ms']);
  expect(plan).toMatchObject({ controllers: ['attacher'], onFailure: 'restart', shutdownTimeoutMs: 1 });
  expect(plan.sidecars.map(({ name, values }) => [name, values['timeout']])).toEqual([['attacher', 5_000]]);
  expect(log.lines).toEqual([]);
});

it('given flags of controllers that are not enabled, then these are not planned, and only the prefixed flags are reported', () => {
  const { plan, log } = planned([
    '--controllers=attacher',
    '--resizer-workers=3',
    '--workers=0',
    '--resize-timeout=1s',
  ]);
  expect(plan.sidecars.map(({ name }) => name)).toEqual(['attacher']);
  expect(log.lines).toEqual([
    {
      kind: 'info',
      level: 0,
      message: 'Flags of a controller that is not enabled have no effect',
      facts: { controller: 'resizer', flags: ['--resizer-workers'] },
    },
  ]);
  // Without a prefix it belongs to none of those that run.
  expect(refusalOf(['--controllers=attacher', '--workers=0'])).toBe(undefined);
});

it('given a refusal of a program, then it names the flags of the program as they were given, and other words as they are', () => {
  const refused = () => '--timeout and --worker-threads need --something-else';
  const programs = { ...sidecars, attacher: { ...sidecars.attacher, refused } };
  expect(() => planned(['--controllers=attacher', '--timeout=1s'], programs)).toThrow(
    /^--timeout and --attacher-worker-threads need --something-else$/,
  );
});

it.each([
  ['0.5', 0, true],
  ['1', 0, true],
  ['0.5', 1, false],
  ['0', 0, false],
  ['-1', 0, false],
])('given --kube-api-qps=%s and --kube-api-burst=%d, then it is refused: %j', (qps, burst, isRefused) => {
  const limits = [`--kube-api-qps=${qps}`, `--kube-api-burst=${burst}`];
  expect(refusalOf(['--controllers=attacher', ...limits])).toEqual(
    isRefused
      ? expect.objectContaining({
          message: '--kube-api-burst must be at least 1 while --kube-api-qps is positive',
          code: 1,
          reason: 'commandLine',
        })
      : undefined,
  );
  // The leases have the limit without a prefix.
  expect(refusalOf(['--controllers=attacher', '--attacher-kube-api-burst=5', ...limits]) !== undefined).toBe(isRefused);
  // Only controllers with leases send requests.
  expect(refusalOf(['--controllers=livenessprobe', ...limits])).toBe(undefined);
});
