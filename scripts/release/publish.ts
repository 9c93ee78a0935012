/** The commands that publish a release. One that is not final moves no tag that deployments and programs follow. */
export function howToPublish(version: string): string {
  const isFinal = !version.includes("-");
  const names = isFinal ? [version, version.split(".").slice(0, 2).join(".")] : [version];
  const tags = names.map((tag) => `-t rcpt:${tag}`).join(" ");
  return `To publish, from a checkout of the tag:
  git tag -a v${version} -m "rcpt ${version}" && git push origin v${version}
  docker build ${tags} --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse HEAD) .
  npm publish dist/release/rcpt-client-${version}.tgz --access public${isFinal ? "" : " --tag next"}
  helm push dist/release/rcpt-chart-${version}.tgz oci://YOUR.REGISTRY/charts`;
}
