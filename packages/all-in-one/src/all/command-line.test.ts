// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { describe, expect, it } from 'vitest';
import { allFlags, allGates, isProcessFlag, namesOf, prefixedFlagsOf, valuesOf } from './command-line.ts';
import { ownFlags } from './own-flags.ts';
import { type ControllerName, controllerNames, isSidecar, programs } from './programs.ts';

type Values = Readonly<Record<string, unknown>>;

function parsed(args: readonly string[]): (program: ControllerName) => Values {
  const result = parseFlags<Values>(allFlags, 'mixed', args);
  if (result.kind !== 'parsed') throw new Error(JSON.stringify(result));
  return (program) => valuesOf(program, result.values, result.given).values;
}

/** Every program with its value of a flag. */
function all(args: readonly string[], flag: string): Readonly<Record<string, unknown>> {
  const of = parsed(args);
  const owners = controllerNames.filter((name) => Object.hasOwn(programs[name].flags, flag));
  return Object.fromEntries(owners.map((name) => [name, of(name)[flag]]));
}

function refusal(args: readonly string[]): string {
  const result = parseFlags<Values>(allFlags, 'mixed', args);
  return result.kind === 'invalid' ? result.message : result.kind;
}

describe('values', () => {
  it('given no flags, then each program has the defaults of its own table', () => {
    const of = parsed([]);
    for (const name of controllerNames) {
      const own = Object.entries(programs[name].flags).map(([flag, { defaultValue }]) => [flag, defaultValue]);
      expect(of(name)).toEqual(Object.fromEntries(own));
    }
  });

  it.each(controllerNames)(
    'given each flag of %s by its prefixed name, then each value arrives there and nowhere else',
    (program) => {
      const entries = Object.entries(programs[program].flags).filter(([flag]) => !isProcessFlag(program, flag));
      const given = entries.map(([flag, { type, defaultValue }], index) => {
        const text = { '': String(defaultValue !== true), duration: `${index + 1_000}ms`, string: `text ${index}` }[
          type
        ];
        return [flag, text ?? String(index + 1_000)] as const;
      });
      const [before, after] = [parsed([]), parsed(given.map(([flag, text]) => `--${program}-${flag}=${text}`))];
      for (const name of controllerNames.filter((each) => each !== program)) expect(after(name)).toEqual(before(name));
      const own = after(program);
      const texts = given.map(([flag]) => [
        flag,
        programs[program].flags[flag]?.type === 'duration' ? `${String(own[flag])}ms` : String(own[flag]),
      ]);
      expect(texts).toEqual(given);
    },
  );

  it('[all-in-one#7] given --attacher-timeout and no other, then the provisioner keeps its 10 s', () => {
    expect(all(['--attacher-timeout=6m'], 'timeout')).toEqual({
      attacher: 360_000,
      'health-monitor': 15_000,
      'node-driver-registrar': 1_000,
      provisioner: 10_000,
      resizer: 10_000,
      snapshotter: 60_000,
    });
  });

  it.each([[['--provisioner-timeout=60s', '--timeout=30s']], [['--timeout=30s', '--provisioner-timeout=60s']]])(
    '[all-in-one#8] given %j, then the provisioner has 60 s and all others 30 s',
    (args) => {
      expect(all(args, 'timeout')).toEqual({
        attacher: 30_000,
        'health-monitor': 30_000,
        'node-driver-registrar': 30_000,
        provisioner: 60_000,
        resizer: 30_000,
        snapshotter: 30_000,
      });
    },
  );

  it('[all-in-one#9] given no flags about threads, then each program has its own number of workers', () => {
    expect(all([], 'worker-threads')).toEqual({
      attacher: 10,
      'health-monitor': 10,
      provisioner: 100,
      snapshotter: 10,
    });
    expect(all([], 'workers')).toEqual({ resizer: 10 });
    expect(all(['--worker-threads=7', '--workers=8'], 'worker-threads')).toEqual({
      attacher: 7,
      'health-monitor': 7,
      provisioner: 7,
      snapshotter: 7,
    });
    expect(all(['--worker-threads=7', '--workers=8'], 'workers')).toEqual({ resizer: 8 });
  });

  it("[all-in-one#6] given the KEP's example, then it is accepted, and the attacher has 100 workers", () => {
    const args = [
      '--timeout=30s',
      '--attacher-timeout=30s',
      '--attacher-worker-thread=100',
      '--provisioner-timeout=30s',
    ];
    expect(all(args, 'timeout')).toMatchObject({ snapshotter: 30_000, resizer: 30_000 });
    expect(all(args, 'worker-threads')).toMatchObject({ attacher: 100, provisioner: 100, snapshotter: 10 });
    expect(all([...args, '--attacher-worker-threads=5'], 'worker-threads')).toMatchObject({ attacher: 5 });
  });

  it.each([
    [[], 10],
    [['--timeout=30s'], 30],
    [['--timeout=30s', '--resizer-timeout=40s'], 40],
    [['--resizer-timeout=40s', '--resize-timeout=50s'], 50],
    [['--resize-timeout=50s', '--resizer-resize-timeout=60s', '--timeout=30s'], 60],
  ])('given %j, then an expansion may take %d s, and --timeout does not overrule it', (args, seconds) => {
    const result = parseFlags<Values>(allFlags, 'mixed', args);
    if (result.kind !== 'parsed') throw new Error(result.kind);
    const { values, given } = valuesOf('resizer', result.values, result.given);
    expect([values['resize-timeout'], given.has('timeout')]).toEqual([seconds * 1000, false]);
  });

  it.each([
    ['default-fstype', 'xfs', 'xfs', ['attacher', 'provisioner']],
    ['kube-api-burst', '7', 7, ['attacher', 'health-monitor', 'provisioner', 'resizer', 'snapshotter']],
    ['kube-api-qps', '7', 7, ['attacher', 'health-monitor', 'provisioner', 'resizer', 'snapshotter']],
    ['retry-interval-max', '7s', 7_000, ['attacher', 'provisioner', 'resizer', 'snapshotter']],
    ['retry-interval-start', '7s', 7_000, ['attacher', 'provisioner', 'resizer', 'snapshotter']],
  ] as const)('given --%s=%s, then the value %s arrives at %j', (...row) => {
    const [flag, text, value, owners] = row;
    expect(all([`--${flag}=${text}`], flag)).toEqual(Object.fromEntries(owners.map((name) => [name, value])));
  });

  it('given --max-entries, then it is that of the attacher, as before, and the health monitor has its own', () => {
    expect(all(['--max-entries=7'], 'max-entries')).toEqual({ attacher: 7, 'health-monitor': 0 });
    expect(all(['--health-monitor-max-entries=8'], 'max-entries')).toEqual({ attacher: 0, 'health-monitor': 8 });
  });

  it.each(['monitor-interval', 'list-volumes-interval', 'volume-list-add-interval'])(
    'given --%s with and without its prefix, then the health monitor has it',
    (flag) => {
      expect(all([`--${flag}=7s`], flag)).toEqual({ 'health-monitor': 7_000 });
      expect(all([`--${flag}=7s`, `--health-monitor-${flag}=8s`], flag)).toEqual({ 'health-monitor': 8_000 });
    },
  );

  it('given --resync, then it is the default of all that resync, each under its own name', () => {
    const of = parsed(['--resync=1m', '--snapshotter-resync-period=2m']);
    expect([of('attacher')['resync'], of('resizer')['resync-period'], of('snapshotter')['resync-period']]).toEqual([
      60_000, 60_000, 120_000,
    ]);
  });

  it('given a flag that has one owner, then it is accepted with and without prefix, and the prefixed one counts', () => {
    expect(parsed(['--strict-topology'])('provisioner')['strict-topology']).toBe(true);
    expect(parsed(['--strict-topology', '--provisioner-strict-topology=false'])('provisioner')['strict-topology']).toBe(
      false,
    );
    expect(parsed(['--kubelet-registration-path=/p'])('node-driver-registrar')['kubelet-registration-path']).toBe('/p');
  });
});

describe('what is refused', () => {
  it('[all-in-one#11] given --extra-create-metadata without a prefix, then it is refused, and both names are offered', () => {
    expect(refusal(['--extra-create-metadata'])).toContain(
      'use --provisioner-extra-create-metadata or --snapshotter-extra-create-metadata',
    );
  });

  it.each(['node-deployment', 'enable-pprof', 'health-port=1', 'resync-period=1m'])(
    'given --%s, which several controllers have, then the prefixed names are offered',
    (flag) => {
      expect(refusal([`--${flag}`])).toMatch(/several controllers have it: use --\S+ or --\S+$/);
    },
  );

  it('given a flag of the process with a prefix, then the right name is offered', () => {
    expect(refusal(['--attacher-leader-election'])).toContain('use --leader-election');
    expect(refusal(['--snapshotter-csi-address=/x'])).toContain('use --csi-address');
  });

  it('given a negative number of worker threads, then it can be read, in order to be refused by name; other numbers of threads cannot', () => {
    expect(refusal(['--worker-threads=-1', '--provisioner-worker-threads=-1'])).toBe('parsed');
    expect(refusal(['--capacity-threads=-1'])).toContain('invalid argument "-1" for "--capacity-threads" flag');
  });

  it('given a flag that no program has, then it is unknown', () => {
    for (const flag of ['attacher-volume-name-prefix', 'undefined'])
      expect(refusal([`--${flag}=1`])).toBe(`unknown flag: --${flag}`);
  });
});

describe('the table', () => {
  it('given all names, then none of them is made twice', () => {
    const made = controllerNames.flatMap((program) =>
      Object.keys(programs[program].flags)
        .filter((flag) => !isProcessFlag(program, flag))
        .map((flag) => namesOf(program, flag)[0]),
    );
    expect(new Set(made).size).toBe(made.length);
    const unprefixed = controllerNames.flatMap((program) => Object.keys(programs[program].flags));
    expect(made.filter((name) => unprefixed.includes(name ?? ''))).toEqual([]);
    expect(Object.keys(ownFlags).filter((name) => unprefixed.includes(name) || made.includes(name))).toEqual([]);
  });

  it('given a single dash, then long names are accepted, and -v has the forms of pflag', () => {
    const levels = [['-v=5'], ['-v5'], ['-v', '5'], ['--v=5']].map((args) => {
      const result = parseFlags<Values>(allFlags, 'mixed', args);
      return result.kind === 'parsed' ? result.values['v'] : result;
    });
    expect(levels).toEqual([5, 5, 5, 5]);
    expect(parsed(['-attacher-timeout=6m', '-leader-election'])('attacher')).toMatchObject({
      timeout: 360_000,
      'leader-election': true,
    });
  });

  it('given a flag of klog, then it is accepted', () => {
    expect(refusal(['--logtostderr=false', '--stderrthreshold=2'])).toBe('parsed');
  });
});

describe('names', () => {
  it.each<[ControllerName, string, readonly string[]]>([
    ['attacher', 'worker-threads', ['attacher-worker-threads', 'attacher-worker-thread', 'worker-threads']],
    ['resizer', 'resize-timeout', ['resizer-resize-timeout', 'resize-timeout', 'resizer-timeout', 'timeout']],
    ['resizer', 'resync-period', ['resizer-resync-period', 'resync']],
    ['attacher', 'csi-address', ['csi-address']],
    ['provisioner', 'strict-topology', ['provisioner-strict-topology', 'strict-topology']],
    ['livenessprobe', 'http-endpoint', ['livenessprobe-http-endpoint']],
    ['livenessprobe', 'health-port', ['livenessprobe-health-port']],
  ])('given %s with --%s, then its value comes from %j', (program, flag, names) => {
    expect(namesOf(program, flag)).toEqual(names);
  });

  it('given a value, then its name is the one under which it was given, else that with the prefix', () => {
    const nameOf = (...given: readonly string[]) => valuesOf('resizer', {}, new Set(given)).nameOf('resize-timeout');
    expect([nameOf(), nameOf('timeout'), nameOf('timeout', 'resize-timeout')]).toEqual([
      'resizer-resize-timeout',
      'timeout',
      'resize-timeout',
    ]);
    expect(valuesOf('resizer', {}, new Set()).nameOf('csi-address')).toBe('csi-address');
  });

  it('given flags of many, then those with the prefix of a controller are its own, also under an old name', () => {
    const given = new Set(['attacher-worker-thread', 'attacher-timeout', 'attacher-no', 'timeout', 'resizer-workers']);
    expect(controllerNames.map((name) => prefixedFlagsOf(name, given))).toEqual([
      ['attacher-worker-thread', 'attacher-timeout'],
      [],
      [],
      [],
      [],
      ['resizer-workers'],
      [],
    ]);
  });

  it('given the flags that a process has once, then each controller takes that one, but for the listeners of the nodes', () => {
    const ofProcess = (name: ControllerName) =>
      Object.keys(programs[name].flags).filter((flag) => isProcessFlag(name, flag));
    const common = ['automaxprocs', 'csi-address', 'metrics-address', 'metrics-path', 'v'];
    expect(new Set(ofProcess('livenessprobe'))).toEqual(new Set([...common, ...loggingOf('livenessprobe')]));
    expect(new Set(ofProcess('attacher'))).toEqual(
      new Set([
        ...common,
        ...loggingOf('attacher'),
        ...Object.keys(programs.attacher.flags).filter((flag) => flag.startsWith('leader-election')),
        'check-rights',
        'debug-explain',
        'feature-gates',
        ...Object.keys(programs.attacher.flags).filter((flag) => flag.startsWith('tracing-')),
        'http-endpoint',
        'kubeconfig',
        'version',
      ]),
    );
  });
});

const loggingOf = (name: ControllerName) =>
  Object.keys(programs[name].flags).filter((flag) => /^(log-|logging-|vmodule)/.test(flag));

describe('texts', () => {
  const textOf = (name: string) => {
    const { type, usage, defaultText, hidden } = allFlags[name]!;
    return [type, usage, defaultText, hidden];
  };

  it('given a default for all, then its text names what it sets, and the defaults if they differ', () => {
    expect(textOf('timeout')).toEqual([
      'duration',
      'The default of --attacher-timeout, --health-monitor-timeout, --node-driver-registrar-timeout, --provisioner-timeout, --resizer-timeout, --snapshotter-timeout. Their own defaults: attacher 15s, health-monitor 15s, node-driver-registrar 1s, provisioner 10s, resizer 10s, snapshotter 1m0s.',
      '',
      undefined,
    ]);
    expect(textOf('resync')).toEqual([
      'duration',
      'The default of --attacher-resync, --health-monitor-resync, --resizer-resync-period, --snapshotter-resync-period. Their own defaults: attacher 10m0s, health-monitor 10m0s, resizer 10m0s, snapshotter 15m0s.',
      '',
      undefined,
    ]);
    expect(textOf('kube-api-burst')).toEqual([
      'int',
      'The default of --attacher-kube-api-burst, --health-monitor-kube-api-burst, --provisioner-kube-api-burst, --resizer-kube-api-burst, --snapshotter-kube-api-burst.',
      '10',
      undefined,
    ]);
    expect(textOf('worker-threads').slice(0, 1)).toEqual(['int']);
    expect(['timeout', 'resync', 'kube-api-burst'].map((name) => allFlags[name]?.brief)).toEqual([
      'For all controllers, in place of their own; for one: --attacher-timeout.',
      'For all controllers, in place of their own; for one: --attacher-resync.',
      'For all controllers; for one: --attacher-kube-api-burst.',
    ]);
  });

  it('given a flag that falls back to another, then its text says so, under both of its names', () => {
    for (const [name, what] of [
      ['resize-timeout', 'resizer'],
      ['modify-timeout', 'modifier'],
    ] as const) {
      const text = `Timeout of CSI calls of the ${what}. Default: --resizer-timeout, else --timeout.`;
      expect(textOf(`resizer-${name}`)).toEqual(['duration', text, '10s', undefined]);
      expect(textOf(name)).toEqual(textOf(`resizer-${name}`));
    }
  });

  it('given an old name, then it has the text of the flag, and is not listed', () => {
    const text = ['int', 'Number of worker threads per queue.', '10'];
    expect([textOf('attacher-worker-threads'), textOf('attacher-worker-thread')]).toEqual([
      [...text, undefined],
      [...text, true],
    ]);
  });

  it('given names that are refused, then they are not listed, and have no short form', () => {
    for (const name of ['attacher-v', 'attacher-leader-election', 'extra-create-metadata', 'health-port']) {
      expect([name, allFlags[name]?.hidden, allFlags[name]?.shorthand]).toEqual([name, true, undefined]);
    }
    expect(allFlags['v']?.shorthand).toBe('v');
  });

  it('given a flag of the process, then its text is that of the controllers that talk to the API server', () => {
    for (const name of controllerNames.filter(isSidecar)) {
      for (const [flag, { usage }] of Object.entries(programs[name].flags)) {
        if (isProcessFlag(name, flag) && flag !== 'feature-gates') expect(allFlags[flag]?.usage, flag).toBe(usage);
      }
    }
    for (const gate of Object.keys(allGates))
      expect(allFlags['feature-gates']?.usage).toContain(`\n${gate}=true|false`);
    expect(Object.keys(allGates)).toHaveLength(9);
  });
});
