// SPDX-License-Identifier: Apache-2.0
/** H-08, H-09: what a program shows to the API server expires, and what it trusts is replaced. It goes on without a restart. */
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubeconfigOf } from '../../accounts/kubeconfig-of.ts';
import { untilRefused } from '../../accounts/until-refused.ts';
import { createCertificates, type KeyPair, loopbackHosts } from '../../control-planes/certificates.ts';
import type { ControlPlane } from '../../control-planes/control-plane.ts';
import { startApiProxy } from '../../faults/api-proxy.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { assertConverged } from './claims.ts';

/** The shortest that API servers give. */
const tokenMs = 10 * 60_000;
/** kubelet replaces a token when four fifths of its life are over. */
const replacedAfterMs = 0.8 * tokenMs;
/** Files with authorities are read again so often, when a request is made. */
const readAgainMs = 5 * 60_000;
const marginMs = 15_000;

export const credentials: readonly Scenario[] = [
  {
    id: 'H-08',
    title: 'tokens that live for ten minutes, over 25 (12 without --full): claims are served all the time',
    needs: ['time', 'bound-tokens', 'driver-journal'],
    run: async (ctx) => {
      const { clock, controlPlane, load } = ctx.testRun;
      await ctx.startDriver();
      const account = await ctx.accountFor('csi-provisioner');
      const name = 'csi-provisioner';
      const tokenFile = join(ctx.scratch, `${name}.token`);
      const kubeconfig = await kubeconfigOf(controlPlane, { account, name, folder: ctx.scratch, lifetimeMs: tokenMs });
      const first = readFileSync(tokenFile, 'utf8');
      await ctx.startProvisioner({
        args: ['--leader-election', `--leader-election-namespace=${ctx.namespace}`],
        connect: () =>
          Promise.resolve({ before: [], args: [`--kubeconfig=${kubeconfig}`], env: { POD_NAMESPACE: ctx.namespace } }),
      });
      const className = await createClass(ctx);

      const endMs = clock.monotonicMs() + (load === 'full' ? 25 : 12) * 60_000;
      let replaceMs = clock.monotonicMs() + replacedAfterMs;
      let claims = 0;
      while (clock.monotonicMs() < endMs) {
        if (clock.monotonicMs() >= replaceMs) {
          replaceMs += replacedAfterMs;
          const token = await controlPlane.tokenFor(account, { lifetimeMs: tokenMs });
          writeFileSync(`${tokenFile}.new`, token, { mode: 0o600 });
          renameSync(`${tokenFile}.new`, tokenFile);
        }
        claims += 1;
        await createClaim(ctx, className, { name: `claim-${claims}` });
        await untilBound(ctx, `claim-${claims}`);
        await clock.sleep(60_000, ctx.signal);
      }

      await untilRefused(ctx, first);
      await assertConverged(ctx, claims);
    },
  },
  {
    id: 'H-09',
    title: 'the authority of the API server is replaced, first beside the old one, then alone: no program is restarted',
    needs: ['time', 'driver-journal'],
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      await ctx.startDriver();
      const [old, next] = [anAuthority(ctx, 'old'), anAuthority(ctx, 'new')];
      const shown = { certFile: join(ctx.scratch, 'shown.crt'), keyFile: join(ctx.scratch, 'shown.key') };
      const caFile = join(ctx.scratch, 'trusted.crt');
      copyPair(old.pair, shown);
      writeFileSync(caFile, old.text);
      const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock, { certificate: shown }));
      const trusting: ControlPlane = { ...controlPlane, caFile };
      await ctx.startProvisioner({
        // A renewal every few seconds: files are looked at when a request is made.
        args: ['--leader-election', `--leader-election-namespace=${ctx.namespace}`],
        connect: async (account) => {
          const place = { account, name: 'csi-provisioner', folder: ctx.scratch, server: proxy.url };
          const path = await kubeconfigOf(trusting, place);
          return { before: [], args: [`--kubeconfig=${path}`], env: { POD_NAMESPACE: ctx.namespace } };
        },
      });
      const className = await createClass(ctx);
      const claimIsBound = async (name: string): Promise<void> => {
        await createClaim(ctx, className, { name });
        await untilBound(ctx, name);
      };
      await claimIsBound('with-the-old');

      writeFileSync(caFile, `${old.text}\n${next.text}`);
      await clock.sleep(readAgainMs + marginMs, ctx.signal);
      copyPair(next.pair, shown);
      await proxy.cut();
      await proxy.heal();
      await claimIsBound('with-both');

      writeFileSync(caFile, next.text);
      await clock.sleep(readAgainMs + marginMs, ctx.signal);
      await proxy.cut();
      await proxy.heal();
      await claimIsBound('with-the-new');

      await assertConverged(ctx, 3);
    },
  },
];

interface Authority {
  /** PEM. */
  readonly text: string;
  /** The certificate and key of a server on loopback. */
  readonly pair: KeyPair;
}

function anAuthority({ scratch }: ScenarioContext, name: string): Authority {
  const certificates = createCertificates(join(scratch, name), `${name} authority`);
  const pair = certificates.issue('server', { commonName: name, hosts: loopbackHosts });
  return { text: readFileSync(certificates.caFile, 'utf8'), pair };
}

function copyPair(from: KeyPair, to: KeyPair): void {
  copyFileSync(from.certFile, to.certFile);
  copyFileSync(from.keyFile, to.keyFile);
}
