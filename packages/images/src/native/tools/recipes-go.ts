import type { Download, GoInstall, GoSource } from './recipe.ts';

type StringMap = Readonly<Record<string, string>>;

/** How a tool is compiled. Checksums are those of the module proxy. */
type CompiledTool = Omit<GoInstall, 'from' | 'publisherFile'>;

const module = (path: string, version: string, sum: string, folder = 'main'): GoSource => ({
  ...{ path, version, sum, folder },
});

/** Returns a tool that is compiled from one module, without sibling modules. */
const singleModule = (source: GoSource, programs: StringMap, variables: StringMap = {}): CompiledTool => ({
  ...{ modules: [source], programs, variables },
});

/**
 * A main package for kubectl, based on the library with all its commands. The original one is in the Kubernetes
 * repository, which is not a module.
 */
const KUBECTL = `package main

import (
	"flag"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	defer klog.Flush()
	logging := flag.NewFlagSet("logging", flag.ContinueOnError)
	klog.InitFlags(logging)
	command := cmd.NewDefaultKubectlCommand()
	for _, name := range []string{"v", "vmodule"} {
		command.PersistentFlags().AddGoFlag(logging.Lookup(name))
	}
	command.SilenceErrors, command.SilenceUsage = true, true
	util.CheckErr(command.Execute())
}
`;

const COMPILED_TOOLS = {
  age: singleModule(
    module('filippo.io/age', 'v1.3.1', 'h1:hbzdQOJkuaMEpRCLSN1/C5DX74RPcNCk6oqhKMXmZi0='),
    { age: './cmd/age', 'age-keygen': './cmd/age-keygen' },
    { 'main.Version': 'v1.3.1' },
  ),
  doctl: singleModule(
    module('github.com/digitalocean/doctl', 'v1.166.0', 'h1:MqBom2ThwtV6OLF8IPBupQqATaDKUJ5RuzX7k3odv1s='),
    { doctl: './cmd/doctl' },
    {
      'github.com/digitalocean/doctl.Major': '1',
      'github.com/digitalocean/doctl.Minor': '166',
      'github.com/digitalocean/doctl.Patch': '0',
      'github.com/digitalocean/doctl.Label': 'release',
    },
  ),
  gh: singleModule(
    module('github.com/cli/cli/v2', 'v2.97.0', 'h1:qOZIg/ZtCBkG06APpP3hiUIS9AmagK7TCw2AAk5FtiU='),
    { gh: './cmd/gh' },
    { 'github.com/cli/cli/v2/internal/build.Version': '2.97.0' },
  ),
  helm: singleModule(
    module('helm.sh/helm/v4', 'v4.2.3', 'h1:JEejtPE04+SvyRomOfgRXVxyJ/lude7eShio30oQr0Y='),
    { helm: './cmd/helm' },
    { 'helm.sh/helm/v4/internal/version.version': 'v4.2.3' },
  ),
  kubectl: {
    modules: [module('k8s.io/kubectl', 'v0.36.3', 'h1:TesKp+XYQEjPYoFvuobcVnuvira2+/xAVlq//+kksaI=')],
    programs: { kubectl: './cmd/heddle-kubectl' },
    variables: {
      'k8s.io/component-base/version.gitVersion': 'v1.36.3',
      'k8s.io/component-base/version.gitMajor': '1',
      'k8s.io/component-base/version.gitMinor': '36',
      'k8s.io/client-go/pkg/version.gitVersion': 'v1.36.3',
      'k8s.io/client-go/pkg/version.gitMajor': '1',
      'k8s.io/client-go/pkg/version.gitMinor': '36',
    },
    files: { 'cmd/heddle-kubectl/main.go': KUBECTL },
  },
  kustomize: singleModule(
    module('sigs.k8s.io/kustomize/kustomize/v5', 'v5.8.1', 'h1:Pgsg5psubpVEy7Nf6S89PARg5VmmWUC1l9dC6Dl4PG0='),
    { kustomize: '.' },
    { 'sigs.k8s.io/kustomize/api/provenance.version': 'v5.8.1' },
  ),
  mc: singleModule(
    module(
      'github.com/minio/mc',
      'v0.0.0-20250813083541-7394ce0dd2a8',
      'h1:9tuRE4iEaDkuxatxe7pddYYh1SX5mT0/D0haofZFeTY=',
    ),
    { mc: '.' },
    {
      'github.com/minio/mc/cmd.Version': '2025-08-13T08:35:41Z',
      'github.com/minio/mc/cmd.ReleaseTag': 'RELEASE.2025-08-13T08-35-41Z',
      'github.com/minio/mc/cmd.CommitID': '7394ce0dd2a8',
      'github.com/minio/mc/cmd.CopyrightYear': '2025',
    },
  ),
  pulumi: {
    modules: [
      module(
        'github.com/pulumi/pulumi/pkg/v3',
        'v3.255.0',
        'h1:ISv/pcGGIZf4gW5KwABJPzg+GF9Vg1DoohlPq2Y/2QE=',
        'pkg',
      ),
      module(
        'github.com/pulumi/pulumi/sdk/v3',
        'v3.255.0',
        'h1:G872L4M1EPW3l60yEc52GgLpFRdXAVf0rn96q3MwDVQ=',
        'sdk',
      ),
    ],
    programs: { pulumi: './cmd/pulumi' },
    variables: { 'github.com/pulumi/pulumi/sdk/v3/go/common/version.Version': 'v3.255.0' },
  },
  rclone: singleModule(
    module('github.com/rclone/rclone', 'v1.75.0', 'h1:3ARHem4jXWltvl+b0PvDAG8s6J/inHd5BRzfwMRb3W8='),
    { rclone: '.' },
    { 'github.com/rclone/rclone/fs.Version': 'v1.75.0' },
  ),
  restic: singleModule(
    module('github.com/restic/restic', 'v0.19.1', 'h1:LQKkar5/gYxay1OCokAWPBNiLr1lTpt4fhdM4GWqSlY='),
    {
      restic: './cmd/restic',
    },
  ),
  sops: singleModule(
    module('github.com/getsops/sops/v3', 'v3.13.3', 'h1:saYczbT88kD1saNChe1cAbFQe5mrRhTIfEw3TaEcmK0='),
    {
      sops: './cmd/sops',
    },
  ),
} as const satisfies Readonly<Record<string, CompiledTool>>;

/** Returns how a tool is installed: compiled, or from `publisherFile` if the operator provides its checksum. */
export function go(name: keyof typeof COMPILED_TOOLS, publisherFile?: Download): GoInstall {
  return { from: 'go', publisherFile, ...COMPILED_TOOLS[name] };
}
