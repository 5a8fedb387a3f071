#!/usr/bin/env bash
# Makes one repository of every layout below the current directory. make.sh [MOUNTS]: a folder with what root has mounted.
# Prints for each: name, how it is judged (whole, plain, unborn, rebase, merging, none, patch, kept), its folder with every byte
# as \ddd.
set -eu
row() { # name, how, folder
	printf '%s\t%s\t' "$1" "$2"
	case $3 in /*) printf '%s' "$3" ;; *) printf '%s' "$PWD/$3" ;; esac | od -An -v -tu1 | tr -s ' \n' '\\\\' | sed 's/\\$//'
	printf '\n'
}
q() { "$@" >/dev/null 2>&1; }
repo() { # folder
	q git init -q "$1"
	printf 'one\ntwo\nthree\n' >"$1/a.txt"
	git -C "$1" add -A
	git -C "$1" commit -qm base
}
git config --global protocol.file.allow always
repo plain && row 'plain' whole plain
repo main && q git -C main worktree add ../tree -b side && row 'linked worktree' whole tree
repo first && q git clone --bare first project/.bare && echo 'gitdir: ./.bare' >project/.git && q git -C project worktree add main main
row 'worktree of a bare repository' whole project/main
repo outer && q git -C outer worktree add within -b within && echo within >>outer/.git/info/exclude
row 'worktree inside its repository' whole outer/within
repo apart && mkdir stores && mv apart/.git stores/apart && echo "gitdir: $PWD/stores/apart" >apart/.git && row 'separate git directory' whole apart
repo linked && mv linked/.git stores/linked && ln -s ../stores/linked linked/.git && row '.git is a symbolic link' whole linked
repo mono && mkdir -p mono/packages/one && printf 'one\n' >mono/packages/one/a.txt && printf '*.o\n/packages/one/dist/\n' >mono/.gitignore
git -C mono add -A && git -C mono commit -qm package && row 'subdirectory of a repository' whole mono/packages/one
repo library && repo super && q git -C super submodule add ../library lib && git -C super commit -qm library
row 'repository with a submodule' whole super
q git clone super alone && q git -C alone submodule update --init && git -C alone/lib switch -q main && row 'submodule opened alone' whole alone/lib
q git clone super bare-lib && row 'uninitialized submodule' whole bare-lib
q git -C super worktree add ../super-tree -b st && q git -C super-tree submodule update --init && row 'submodule in a linked worktree' whole super-tree
repo sparse && mkdir sparse/in sparse/out && echo 1 >sparse/in/f && echo 2 >sparse/out/g && git -C sparse add -A && git -C sparse commit -qm more
q git -C sparse worktree add ../sparse-tree -b st && git -C sparse sparse-checkout set --cone in && row 'sparse checkout' whole sparse
git -C sparse-tree sparse-checkout set --cone --sparse-index in && row 'sparse index, linked worktree' whole sparse-tree
repo split && git -C split update-index --split-index && row 'split index' whole split
q git -C split worktree add ../split-tree -b st && git -C split-tree update-index --split-index && row 'split index, linked worktree' whole split-tree
git -C first config uploadpack.allowfilter true && q git clone --filter=blob:none "file://$PWD/first" partial && row 'partial clone' whole partial
git -C first commit -q --allow-empty -m base && q git clone --depth 1 "file://$PWD/first" shallow && row 'shallow clone' whole shallow
q git -C shallow worktree add ../shallow-tree -b st && row 'shallow clone, linked worktree' whole shallow-tree
q git clone -s main absolute && row 'alternates, absolute' whole absolute
q git clone main relative && rm -rf relative/.git/objects/?? && echo ../../../main/.git/objects >relative/.git/objects/info/alternates && row 'alternates, relative' whole relative
q git clone -s absolute chained && row 'alternates, chained' whole chained
repo nest && repo nest/inner && row 'nested repositories' whole nest
mkdir nothing && printf 'one\n' >nothing/a.txt && row 'no repository' none nothing
git init -q unborn && printf 'one\n' >unborn/a.txt && row 'unborn branch' unborn unborn
repo detached && git -C detached checkout -q --detach && row 'detached HEAD' whole detached
repo rebase && git -C rebase switch -qc topic && echo topic >>rebase/a.txt && git -C rebase commit -qam topic && git -C rebase switch -q main &&
	echo main >>rebase/a.txt && git -C rebase commit -qam main && q git -C rebase worktree add ../rebase-tree topic
q git -C rebase-tree rebase main || row 'rebase in progress' rebase rebase-tree
q git -C rebase merge topic || row 'merge in progress' merging rebase
q git init --object-format=sha256 long && printf 'one\n' >long/a.txt && git -C long add -A && git -C long commit -qm base && row 'SHA-256 objects' patch long
if q git init --ref-format=reftable reftable; then
	printf 'one\n' >reftable/a.txt && git -C reftable add -A && git -C reftable commit -qm base && row 'reftable' patch reftable
fi
repo readonly && chmod -R a-w readonly && row 'read-only files' kept readonly
repo lfs && echo '*.bin filter=lfs diff=lfs merge=lfs -text' >lfs/.gitattributes && echo pointer >lfs/big.bin && git -C lfs add -A && git -C lfs commit -qm lfs
git -C lfs config filter.lfs.process 'git-lfs filter-process' && git -C lfs config filter.lfs.clean 'git-lfs clean' &&
	git -C lfs config filter.lfs.smudge 'git-lfs smudge' && git -C lfs config filter.lfs.required true && row 'LFS' whole lfs
repo signed && git -C signed config commit.gpgsign true && git -C signed config user.signingkey 0123456789ABCDEF && row 'signed commits' whole signed
repo helper && git -C helper config credential.helper '!false' && git -C helper remote add origin https://me:hunter2-secret@example.org/x.git &&
	git -C helper config core.sshCommand false && git -C helper config core.pager false && row 'credential helper, ssh command, pager' whole helper
repo monitor && git -C monitor config core.fsmonitor "$PWD/monitor/none" && row 'fsmonitor' whole monitor
repo hooks && git -C hooks config core.hooksPath "$PWD/none" && row 'hooksPath' whole hooks
printf '[user]\n\temail = included@example.org\n[http]\n\textraheader = AUTHORIZATION: hunter2-secret\n' >extra
repo includes && git -C includes config include.path "$PWD/extra" && row 'includes' whole includes
repo jj && mkdir -p jj/.jj/repo/store && printf '../../../.git' >jj/.jj/repo/store/git_target && echo /.jj >>jj/.git/info/exclude &&
	git -C jj checkout -q --detach && row 'jj, colocated' whole jj
mkdir -p hg/.hg/store && printf '[ui]\n' >hg/.hg/hgrc && printf 'one\n' >hg/a.txt && row 'Mercurial' none hg
repo "a b" && row 'path with spaces' whole 'a b'
odd=$(printf 'a\nb') && repo "$odd" && row 'path with a newline' whole "$odd"
odd=$(printf 'e\360\237\230\200') && repo "$odd" && row 'path with emoji' whole "$odd"
odd=$(printf 'd\351pot') && repo "$odd" && row 'path that is not UTF-8' whole "$odd"
repo real && ln -s real via && row 'symbolic link to the repository' whole via
repo crlf && git -C crlf config core.autocrlf true && rm crlf/a.txt && git -C crlf checkout -q a.txt && row 'autocrlf' whole crlf
[ -f "${1:-}/names" ] || exit 0
while read -r name rest; do
	repo "$1/$name/r" && row "$rest" whole "$1/$name/r"
done <"$1/names"
