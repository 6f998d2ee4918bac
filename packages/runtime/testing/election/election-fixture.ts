// SPDX-License-Identifier: Apache-2.0
/**
 * Candidates for one Lease on one fake API server, in virtual time. Each has its own client, and its connection can be made to
 * fail. The work of a leader runs until it is stopped.
 */
import { createApiClient } from '../../src/api/create-client.ts';
import type { Lease } from '../../src/api/objects.ts';
import { leases } from '../../src/api/resource.ts';
import type { LeaseGate } from '../../src/controller/start-gate.ts';
import type { EventRecorder } from '../../src/event-recorder/recorder.ts';
import type { LeaderElectionOptions } from '../../src/lease/election-config.ts';
import { createElectionMetrics } from '../../src/lease/election-report.ts';
import type { ElectionResult } from '../../src/lease/election-state.ts';
import { createLeaderElector, type LeaderElector } from '../../src/lease/leader-elector.ts';
import { leaseRules } from '../../src/lease/lease-client.ts';
import { OrderlyStop } from '../../src/process/orderly-stop.ts';
import { createFakeApiServer, type FakeApiServer } from '../fake-api-server/index.ts';
import { FakeClock } from '../fake-clock.ts';
import { script, withFaults, type DecideFault, type FaultRule, type FaultTarget } from '../faults/index.ts';
import { recordingLogger, type RecordingLogger } from '../recording-logger.ts';
import { recordingMetrics, type RecordingMetrics } from '../recording-metrics.ts';
import { seededRandom } from '../seeded-random.ts';

export interface ElectionFixture {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly lease: () => Lease | undefined;
  /** Stores a Lease as another process would have left it. */
  readonly seedLease: (spec: NonNullable<Lease['spec']>, labels?: Readonly<Record<string, string>>) => Lease;
  readonly changeLease: (change: (lease: Lease) => Lease) => void;
  readonly removeLease: () => void;
  readonly candidate: (identity: string, options?: CandidateOptions) => Candidate;
  /** All writes to the Lease: the candidate, the verb and the answer. */
  readonly writes: () => readonly string[];
}

export interface CandidateOptions extends Partial<LeaderElectionOptions> {
  readonly faults?: FaultRule[];
}

export interface Candidate {
  readonly elector: LeaderElector;
  readonly logger: RecordingLogger;
  readonly metrics: RecordingMetrics;
  /** Events on the Lease. */
  readonly events: readonly string[];
  /** What happened to the work: `started@ms`, `aborted: <reason>@ms`. */
  readonly work: readonly string[];
  readonly gate: LeaseGate | undefined;
  /** `undefined` while it runs. */
  readonly result: ElectionResult | Error | undefined;
  readonly resultAtMs: number | undefined;
  readonly ended: Promise<void>;
  /** Its further requests do not arrive. To the others it looks as if the process had been killed. */
  partitioned: boolean;
  /** Default: an `OrderlyStop`. */
  stop(reason?: Error): void;
  endWork(error?: Error): void;
}

const place = { namespace: 'kube-system', name: 'driver-lease' };

export interface ElectionFixtureOptions {
  /** The verbs on Leases that candidates may not use. */
  readonly without?: readonly string[];
}

export function createElectionFixture({ without = [] }: ElectionFixtureOptions = {}): ElectionFixture {
  const clock = new FakeClock();
  const rules = leaseRules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => !without.includes(verb)) }));
  const server = createFakeApiServer({
    clock,
    random: seededRandom(1),
    authenticate: ({ userAgent }) => ({ user: userAgent, rules }),
  });
  let seed = 1;
  return {
    clock,
    server,
    lease: () => server.objects.get(leases, place),
    seedLease: (spec, labels) =>
      server.seed({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { ...place, ...(labels === undefined ? {} : { labels }) },
        spec,
      }),
    changeLease: (change) => void server.objects.change(leases, place, change),
    removeLease: () => server.objects.remove(leases, place),
    candidate: (identity, { faults = [], ...rest } = {}) =>
      startCandidate({ clock, server, faults, seed: (seed += 1) }, { ...place, identity, ...rest }),
    writes: () => server.writes().map(({ user, verb, code }) => `${user} ${verb} ${code}`),
  };
}

interface CandidateSeat {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly faults: FaultRule[];
  readonly seed: number;
}

function startCandidate({ clock, server, faults, seed }: CandidateSeat, options: LeaderElectionOptions): Candidate {
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const scripted = script(faults);
  const decide: DecideFault = (target: FaultTarget) =>
    self.partitioned ? { kind: 'break', point: 'before', failure: 'refused' } : scripted(target);
  const client = createApiClient(
    { transport: withFaults(server.transport, { clock, decide }), clock, logger },
    { userAgent: options.identity, qps: -1, burst: 0 },
  );
  const events: string[] = [];
  const recorder: EventRecorder = {
    record: ({ kind, metadata }, { type, reason, message }) => {
      events.push(`${kind} ${metadata?.name}: ${type} ${reason} ${message}`);
    },
    flush: () => Promise.resolve(),
  };
  const elector = createLeaderElector(
    { client, clock, random: seededRandom(seed), logger, metrics: createElectionMetrics(metrics), events: recorder },
    options,
  );
  const stop = new AbortController();
  const work: string[] = [];
  let gate: LeaseGate | undefined;
  let end: (error?: Error) => void = () => undefined;
  let result: ElectionResult | Error | undefined;
  let resultAtMs: number | undefined;

  const self: Candidate = {
    elector,
    logger,
    metrics,
    events,
    work,
    partitioned: false,
    get gate() {
      return gate;
    },
    get result() {
      return result;
    },
    get resultAtMs() {
      return resultAtMs;
    },
    get ended() {
      return ended;
    },
    stop: (reason = new OrderlyStop()) => stop.abort(reason),
    endWork: (error) => end(error),
  };

  function lead(signal: AbortSignal, given: LeaseGate): Promise<void> {
    gate = given;
    work.push(`started@${clock.monotonicMs()}`);
    signal.addEventListener('abort', () => {
      work.push(`aborted: ${(signal.reason as Error).name}@${clock.monotonicMs()}`);
    });
    return new Promise((resolve, reject) => {
      end = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  async function run(): Promise<void> {
    try {
      result = await elector.run(stop.signal, lead);
    } catch (error) {
      result = error as Error;
    }
    resultAtMs = clock.monotonicMs();
  }

  const ended = run();
  return self;
}
